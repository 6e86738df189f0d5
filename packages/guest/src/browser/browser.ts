import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserExitResult, StartBrowser } from '@berth/contract/guest';
import { chromiumFlags } from './chromium-flags.ts';
import { vncSocket } from './display.ts';
import { withDisplay } from './display-start.ts';
import { readOutOfMemoryKills } from './processes.ts';
import { CdpClient } from './cdp-client.ts';

/** Program, user and folders of a browser. */
export interface BrowserEnvironment {
  chromiumPath: string;
  uid: number;
  /** Folder of the profile and of temporary files. */
  homePath: string;
  /** Folder of the display's socket. */
  displayPath: string;
  /** Port of the egress proxy on 127.0.0.1. */
  proxyPort: number;
}

/** The browser exited or did not answer at its start. */
class BrowserNotStartedError extends Error {}

/** Enough for the lines around a crash; the browser may print without limit. */
const logTailLength = 8 * 1024;
const stderrDrainMs = 100;
/** A browser whose pipe has closed exits within this time. */
const exitMsMax = 5000;

/** Resets the agent's OOM protection for the browser. DevTools is one socket, read on 3 and written on 4. */
const script = 'echo 0 >/proc/self/oom_score_adj; ulimit -c 0; exec "$@" 4<&3';
const withoutPrivileges = ['--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'];

/** One browser process. */
export class Browser {
  /** DevTools: JSON messages, each ended by a NUL byte. The browser exits when this closes. */
  readonly pipe: Duplex;
  readonly exited: Promise<BrowserExitResult>;
  readonly #child: ChildProcess;
  readonly #outOfMemoryKillsAtStart = readOutOfMemoryKills();
  #logTail = '';

  constructor({ kind }: StartBrowser, environment: BrowserEnvironment) {
    const [program, ...args] = ['setpriv', ...asUser(environment.uid), ...withoutPrivileges, '--', ...command(kind, environment)];
    this.#child = spawn('/bin/sh', ['-c', script, 'browser', program ?? '', ...args], {
      cwd: environment.homePath,
      env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', HOME: environment.homePath, TMPDIR: environment.homePath, LANG: 'C.UTF-8', TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.pipe = this.#child.stdio[3] as Socket;
    // The pipe breaks when the browser exits, which `exited` reports.
    this.pipe.on('error', () => {});
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#logTail = (this.#logTail + text).slice(-logTailLength);
    });
    this.exited = this.#watchExit();
  }

  /** Returns the product name from the first DevTools answer, and leaves the pipe to its next reader. @throws BrowserNotStartedError */
  async waitUntilReady(): Promise<string> {
    const ended = this.exited.then(({ code, signal, log }) => {
      throw new BrowserNotStartedError(`the browser ended at once (${signal ?? `code ${code}`}): ${log.slice(-1000)}`);
    });
    return Promise.race([this.#askVersion(), ended]);
  }

  async #askVersion(): Promise<string> {
    try {
      const cdp = new CdpClient(this.pipe);
      const { product } = await cdp.call('Browser.getVersion');
      await cdp.end();
      return String(product);
    } catch (cause) {
      // The exit, which has more detail, follows shortly.
      await sleep(exitMsMax);
      throw new BrowserNotStartedError('the browser does not answer', { cause });
    }
  }

  async #watchExit(): Promise<BrowserExitResult> {
    const child = this.#child;
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    // stderr may still hold the last lines.
    if (child.stderr?.readable) await Promise.race([once(child.stderr, 'close'), sleep(stderrDrainMs)]);
    // Out of memory only if the kernel counted an OOM kill.
    const outOfMemory = signal === 'SIGKILL' && readOutOfMemoryKills() > this.#outOfMemoryKillsAtStart;
    return { code, signal, out_of_memory: outOfMemory, log: this.#logTail };
  }
}

const asUser = (uid: number): string[] => ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];

/**
 * Starts without a spare renderer: a process that runs when a machine is saved is
 * the same in all copies, and so would be the random numbers of its page.
 */
function command(kind: StartBrowser['kind'], { chromiumPath, homePath, displayPath, proxyPort }: BrowserEnvironment): string[] {
  const profilePath = join(homePath, 'profile');
  const windows = kind === 'full_browser';
  const flags = chromiumFlags({ proxyPort, profilePath, smallSharedMemory: false, jailed: true, windows, spareRenderer: false });
  return windows ? withDisplay([chromiumPath, ...flags], { vnc: join(displayPath, vncSocket), profilePath }) : [chromiumPath, ...flags];
}
