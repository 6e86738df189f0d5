/** A real browser on pages built as the vendors' widgets build them, and recorded solves. */
import { after, before, beforeEach, type TestContext } from 'node:test';
import type { Browser, Page } from '@berth/devtools';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { openEndpoint, pages, secret, type Responder, type Endpoint } from './captcha.ts';
import { Captchas, CaptchaWatch, type CaptchaEvent, type CaptchasDeps, type SolveOptions } from '../src/sessions/captcha/captcha.ts';

export const limit = (): { signal: AbortSignal; timeoutMs: number } => ({ signal: AbortSignal.timeout(30_000), timeoutMs: 20_000 });

interface Site {
  url: string;
  otherSite: string;
  /** The requests so far, in order. */
  requests: readonly { path: string }[];
  close(): Promise<void>;
}
interface Launched {
  browser: Browser;
  end(): Promise<void>;
}
/** The fixtures of the browser's own tests. */
interface BrowserFixtures {
  launch(options: { flags: string[] }): Promise<Launched>;
  openPages(replies: Record<string, string>): Promise<Site>;
}

/** A site and a browser for a test file, and a new tab for each test. */
export class TestTab {
  site!: Site;
  launched!: Launched;
  page!: Page;

  constructor({ launch, openPages }: BrowserFixtures) {
    before(async () => {
      this.site = await openPages(pages);
      // The vendors' frames exist in the page and are not loaded.
      this.launched = await launch({ flags: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'] });
    });
    after(async () => {
      await this.launched.end();
      await this.site.close();
    });
    beforeEach(async () => {
      const { browser } = this.launched;
      const { tabId } = await browser.openTab({ active: true, ...limit() });
      for (const tab of browser.tabs()) if (tab.tabId !== tabId) await browser.closeTab(tab.tabId, limit());
      this.page = browser.page(tabId);
    });
  }

  async goTo(path: string): Promise<void> {
    await this.page.navigate({ url: `${this.site.url}${path}`, waitUntil: 'load', timeoutMs: 20_000 }, limit());
  }

  /** Evaluates an expression in the page's own context. */
  evaluate<T>(expression: string): Promise<T> {
    return this.page.evaluate<T>(this.page.mainFrame(), expression, { ...limit(), timeoutMs: 20_000 });
  }

  valueOf(name: string): Promise<string> {
    return this.evaluate(`document.querySelector('[name="${name}"]').value`);
  }
}

const fastPace = { pollMs: 20, detectIntervalMs: 20, verifyIntervalMs: 50, callbackMs: 100 };
const disabledConfig = { http: null, human: false, timeoutMs: 20_000 };

export const captchas = (config: Partial<CaptchasDeps['config']> = {}, log: Log = silentLog): Captchas =>
  new Captchas({ config: { ...disabledConfig, ...config }, clock: systemClock, log, pace: fastPace });

export async function withEndpoint(t: TestContext, answer?: Responder, log?: Log): Promise<{ endpoint: Endpoint; service: Captchas }> {
  const endpoint = await openEndpoint(t, answer);
  return { endpoint, service: captchas({ http: { url: endpoint.url, secret } }, log) };
}

/** The options of a solve, and the events it emits. */
export class SolveRecorder {
  readonly events: CaptchaEvent[] = [];
  readonly watch = new CaptchaWatch(systemClock);
  readonly options: SolveOptions;
  readonly #waiting = new Map<string, () => void>();

  constructor(more: Partial<SolveOptions> = {}) {
    const emit = (event: CaptchaEvent): void => {
      this.events.push(event);
      this.#waiting.get(event.type)?.();
    };
    this.options = { ...limit(), deadlineMs: 15_000, emit, watch: this.watch, ...more };
  }

  types(): CaptchaEvent['type'][] {
    return this.events.map(({ type }) => type);
  }

  /** Resolves once this event was emitted. */
  async waitFor(type: CaptchaEvent['type']): Promise<void> {
    if (!this.types().includes(type)) await new Promise<void>((resolve) => void this.#waiting.set(type, resolve));
  }
}
