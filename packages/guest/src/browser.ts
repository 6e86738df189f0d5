import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserExited, StartBrowser } from '@berth/contract/guest';
import { chromiumFlags } from './chromium-flags.ts';
import { vncSocket } from './display.ts';
import { withDisplay } from './display-start.ts';
import { readOutOfMemoryKills } from './processes.ts';
import { Talk } from './talk.ts';

/** Where a browser finds its own, and who it is. */
export interface BrowserPlace {
  chromiumPath: string;
  uid: number;
  /** Its own folder, for the profile and for what programs leave behind. */
  homePath: string;
  /** Its own folder, for the display's socket. */
  displayPath: string;
  /** The port of 127.0.0.1 where its connections are taken. */
  proxyPort: number;
}

/** The browser was no more before it answered. */
export class BrowserNotStarted extends Error {}

/** Enough for the lines around a crash; the browser may print without end. */
const logTailLength = 8 * 1024;
const lastWordsMs = 100;
/** A browser that has let go of its pipe ends by itself. */
const endMsMax = 5000;

/** The kernel ends the agent last, and the browser as any other. One socket is read on 3 and written on 4. */
const script = 'echo 0 >/proc/self/oom_score_adj; ulimit -c 0; exec "$@" 4<&3';
const withoutPowers = ['--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'];

/** One browser, from its start to its end. */
export class Browser {
  /** DevTools: messages of JSON, each ended by a NUL byte. The browser ends when this does. */
  readonly pipe: Duplex;
  readonly exited: Promise<BrowserExited>;
  readonly #child: ChildProcess;
  readonly #outOfMemoryKillsAtStart = readOutOfMemoryKills();
  #logTail = '';

  constructor({ kind }: StartBrowser, place: BrowserPlace) {
    const [program, ...args] = ['setpriv', ...asUser(place.uid), ...withoutPowers, '--', ...command(kind, place)];
    this.#child = spawn('/bin/sh', ['-c', script, 'browser', program ?? '', ...args], {
      cwd: place.homePath,
      env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', HOME: place.homePath, TMPDIR: place.homePath, LANG: 'C.UTF-8', TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.pipe = this.#child.stdio[3] as Socket;
    // The pipe breaks when the browser dies: that is told by `exited`.
    this.pipe.on('error', () => {});
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#logTail = (this.#logTail + text).slice(-logTailLength);
    });
    this.exited = this.#watchExit();
  }

  /** Resolves with the product's name when DevTools have answered, and leaves the pipe to whoever reads it next. Rejects with BrowserNotStarted. */
  async firstAnswer(): Promise<string> {
    const ended = this.exited.then(({ code, signal, log }) => {
      throw new BrowserNotStarted(`the browser ended at once (${signal ?? `code ${code}`}): ${log.slice(-1000)}`);
    });
    return Promise.race([this.#askVersion(), ended]);
  }

  async #askVersion(): Promise<string> {
    try {
      const talk = new Talk(this.pipe);
      const { product } = await talk.ask('Browser.getVersion');
      await talk.end();
      return String(product);
    } catch (cause) {
      // Its end, which tells more, comes a moment later.
      await sleep(endMsMax);
      throw new BrowserNotStarted('the browser does not answer', { cause });
    }
  }

  async #watchExit(): Promise<BrowserExited> {
    const child = this.#child;
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    // Its last words may still be on their way.
    if (child.stderr?.readable) await Promise.race([once(child.stderr, 'close'), sleep(lastWordsMs)]);
    // Only a kill that the kernel counts as one for want of memory is called so.
    const outOfMemory = signal === 'SIGKILL' && readOutOfMemoryKills() > this.#outOfMemoryKillsAtStart;
    return { code, signal, out_of_memory: outOfMemory, log: this.#logTail };
  }
}

const asUser = (uid: number): string[] => ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];

/**
 * Without a process for the next page: whatever runs when a machine is saved is
 * the same in all its copies, and the random numbers of a page must not be.
 */
function command(kind: StartBrowser['kind'], { chromiumPath, homePath, displayPath, proxyPort }: BrowserPlace): string[] {
  const profilePath = join(homePath, 'profile');
  const windows = kind === 'full_browser';
  const flags = chromiumFlags({ proxyPort, profilePath, smallSharedMemory: false, jailed: true, windows, pagesAhead: false });
  return windows ? withDisplay([chromiumPath, ...flags], { vnc: join(displayPath, vncSocket), profilePath }) : [chromiumPath, ...flags];
}
