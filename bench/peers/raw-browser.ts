import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Stage } from '../stage.ts';

export interface RawBrowser {
  process: ChildProcess;
  /** The DevTools socket. */
  url: string;
  folder: string;
}

/** The flags of a plain headless Chromium. */
export const rawFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-breakpad',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const launchTimeoutMs = 30_000;

/** Resolves when Chromium prints its DevTools URL. */
export async function launchRaw(stage: Stage, chromium: string): Promise<RawBrowser> {
  const folder = stage.folder('raw');
  const child = stage.start(chromium, [...rawFlags, '--remote-debugging-port=0', `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (!child.stderr) throw new Error('Chromium was started without a pipe for its messages');
  const lines = createInterface({ input: child.stderr });
  const timer = setTimeout(() => child.kill('SIGKILL'), launchTimeoutMs);
  try {
    for await (const line of lines) {
      const url = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
      if (url) return { process: child, url, folder };
    }
    throw new Error('Chromium exited or timed out before its DevTools listened');
  } finally {
    clearTimeout(timer);
    child.stderr.resume();
  }
}

/** Stops the browser and removes its folder. */
export async function destroyRaw(stage: Stage, browser: RawBrowser): Promise<void> {
  await stage.stop(browser.process, { graceMs: 0 });
  stage.removeFolder(browser.folder);
}

export const waitForExit = async (browser: RawBrowser): Promise<void> => {
  if (browser.process.exitCode === null && browser.process.signalCode === null) await once(browser.process, 'exit');
};

/** Idle browsers, launched in advance. */
export class RawPool {
  readonly #idle: RawBrowser[] = [];
  readonly #stage: Stage;
  readonly #chromium: string;

  constructor(stage: Stage, chromium: string) {
    this.#stage = stage;
    this.#chromium = chromium;
  }

  async fill(count: number): Promise<void> {
    while (this.#idle.length < count) this.#idle.push(await launchRaw(this.#stage, this.#chromium));
  }

  take(): RawBrowser {
    const browser = this.#idle.shift();
    if (!browser) throw new Error('the pool of raw browsers is empty');
    return browser;
  }

  async empty(): Promise<void> {
    for (let browser = this.#idle.pop(); browser; browser = this.#idle.pop()) await destroyRaw(this.#stage, browser);
  }
}
