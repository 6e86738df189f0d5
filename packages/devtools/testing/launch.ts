/** A real Chromium on its DevTools pipe, for the tests of this folder: no jail, no gate. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, type Readable, type Writable } from 'node:stream';
import { attachBrowser, type AttachOptions, type Browser, type BrowserSettings } from '../src/browser/browser.ts';
import { defaultSettings } from '../src/browser/tabs/settings.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { knownSlowness } from '../../../tests/yardstick.ts';

class PipePair extends Duplex {
  readonly #from: Readable;
  readonly #to: Writable;

  constructor(from: Readable, to: Writable) {
    super();
    this.#from = from;
    this.#to = to;
    from.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) from.pause();
    });
    from.on('end', () => this.push(null));
    from.on('error', () => this.destroy());
    to.on('error', () => this.destroy());
  }

  override _read(): void {
    this.#from.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#to.write(chunk, done);
  }
}

export interface Launched {
  browser: Browser;
  cdp: Duplex;
  pid: number;
  downloadsPath: string;
  end(): Promise<void>;
}

export interface LaunchOptions extends Partial<AttachOptions> {
  flags?: string[];
  /** Wraps the pipe of the browser. */
  over?: (cdp: Duplex) => Duplex;
}

export async function launch(options: LaunchOptions = {}): Promise<Launched> {
  const { flags = [], over = (cdp) => cdp, ...attach } = options;
  const folder = await mkdtemp(join(tmpdir(), 'berth-browser-'));
  const downloadsPath = join(folder, 'downloads');
  const args = [
    '--remote-debugging-pipe',
    '--no-sandbox',
    '--headless',
    '--no-first-run',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-breakpad',
    '--disable-crash-reporter',
    // As in a machine, where nothing warns of a flag.
    '--disable-infobars',
    // As in a machine: without it, a screenshot of a page behind another one takes seconds, and the next one never comes.
    '--enable-features=CDPScreenshotNewSurface',
    `--user-data-dir=${folder}/profile`,
    ...flags,
    'about:blank',
  ];
  const child = spawn('/usr/lib/chromium/chromium', args, {
    env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const cdp = over(new PipePair(child.stdio[4] as Readable, child.stdio[3] as unknown as Writable));
  const browser = await attachBrowser(
    { id: 'vm_test', kind: 'headless', cdp, downloadsPath, resizeDisplay: () => Promise.resolve() },
    { log: silentLog, clock: systemClock, slowness: knownSlowness, ...attach },
  );
  await browser.tabReady();
  const end = async (): Promise<void> => {
    browser.detach();
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await exited;
    for (const stream of child.stdio) stream?.destroy();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  return { browser, cdp, pid: child.pid ?? 0, downloadsPath, end };
}

/** Calls back for each command that is sent to the browser, with the whole message. */
export function onCommand(cdp: Duplex, listener: (method: string, message: string) => void): void {
  const write = cdp.write.bind(cdp);
  cdp.write = ((message: string) => {
    listener(/"method":"([^"]+)"/.exec(message)?.[1] ?? '', message);
    return write(message);
  }) as typeof cdp.write;
}

export const settings = (wanted: Partial<BrowserSettings> = {}): BrowserSettings => ({ ...defaultSettings, tabLimit: 10, ...wanted });
