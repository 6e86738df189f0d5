import type { Bench } from '../context.ts';
import { DevTools } from '../peers/devtools.ts';
import { FrameLog } from './frame-log.ts';
import { pidsOf } from '../proc.ts';
import { launchRaw } from '../peers/raw-browser.ts';

/** Options that the service requests for one viewer of this size. */
const screencastOptions = { format: 'jpeg', quality: 80, maxWidth: 1280, maxHeight: 720, everyNthFrame: 1 };
const viewport = { width: 1280, height: 720, deviceScaleFactor: 1, mobile: false };

interface FrameEvent {
  data: string;
  sessionId: number;
  metadata: { timestamp: number };
}

/** The screencast of a warm Chromium over its own DevTools port, each frame acknowledged at once: the fastest possible. */
export class RawCast {
  readonly frames = new FrameLog();
  readonly #devtools: DevTools;
  readonly #pid: number;

  private constructor(devtools: DevTools, pid: number) {
    this.#devtools = devtools;
    this.#pid = pid;
  }

  /** The browser ends with the stage. */
  static async launch({ stage, chromium }: Bench): Promise<RawCast> {
    const { url, process: browser } = await launchRaw(stage, chromium);
    const devtools = await DevTools.connect(url);
    await devtools.send('Page.enable');
    await devtools.send('Emulation.setDeviceMetricsOverride', viewport);
    return new RawCast(devtools, browser.pid ?? 0);
  }

  get pids(): number[] {
    return pidsOf(this.#pid);
  }

  /** Resolves when the page has loaded. */
  async navigate(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => {
      this.#devtools.onEvent('Page.loadEventFired', () => resolve());
    });
    await this.#devtools.send('Page.navigate', { url });
    await loaded;
  }

  async start(): Promise<void> {
    this.#devtools.onEvent('Page.screencastFrame', (params) => this.#receive(params as unknown as FrameEvent));
    await this.#devtools.send('Page.startScreencast', screencastOptions);
  }

  async stop(): Promise<void> {
    this.#devtools.onEvent('Page.screencastFrame', null);
    await this.#devtools.send('Page.stopScreencast');
  }

  #receive({ data, sessionId, metadata }: FrameEvent): void {
    void this.#devtools.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
    this.frames.add(metadata.timestamp * 1000, Buffer.from(data, 'base64').length);
  }
}
