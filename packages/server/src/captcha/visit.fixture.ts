/** A real browser on pages that are built as the vendors' widgets build them, and solves that can be watched. */
import { after, before, beforeEach, type TestContext } from 'node:test';
import type { Browser, Page } from '../browser/browser.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLog, type Log } from '../lib/log.ts';
import { openEndpoint, pages, secret, type Answer, type Endpoint } from './captcha.fixture.ts';
import { Captchas, CaptchaWatch, type CaptchaEvent, type CaptchasOptions, type SolveOptions } from './captcha.ts';

export const limit = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(20_000) });

interface Site {
  url: string;
  otherSite: string;
  close(): Promise<void>;
}
interface Launched {
  browser: Browser;
  end(): Promise<void>;
}
/** What the browser's own tests begin with. */
interface Beginnings {
  launch(options: { flags: string[] }): Promise<Launched>;
  openPages(replies: Record<string, string>): Promise<Site>;
}

/** A site and a browser for a file of tests, and a tab for each of them. */
export class Visit {
  site!: Site;
  launched!: Launched;
  page!: Page;

  constructor({ launch, openPages }: Beginnings) {
    before(async () => {
      this.site = await openPages(pages);
      // The frames of vendors are there to be seen, not to be loaded.
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
    await this.page.navigate({ url: `${this.site.url}${path}`, waitUntil: 'load', timeoutMs: 10_000 }, limit());
  }

  /** In the page's own world. */
  say<T>(expression: string): Promise<T> {
    return this.page.evaluate<T>(this.page.mainFrame(), expression, { ...limit(), timeoutMs: 5000 });
  }

  valueOf(name: string): Promise<string> {
    return this.say(`document.querySelector('[name="${name}"]').value`);
  }
}

const quick = { pollMs: 20, lookMs: 20, settleMs: 50, callbackMs: 100 };
const off = { http: null, human: false, timeoutMs: 20_000 };

export const captchas = (config: Partial<CaptchasOptions['config']> = {}, log: Log = silentLog): Captchas =>
  new Captchas({ config: { ...off, ...config }, clock: systemClock, log, pace: quick });

export async function withEndpoint(t: TestContext, answer?: Answer, log?: Log): Promise<{ endpoint: Endpoint; service: Captchas }> {
  const endpoint = await openEndpoint(t, answer);
  return { endpoint, service: captchas({ http: { url: endpoint.url, secret } }, log) };
}

/** The options of a solve, and what it tells. */
export class Told {
  readonly events: CaptchaEvent[] = [];
  readonly watch = new CaptchaWatch(systemClock);
  readonly options: SolveOptions;
  readonly #waiting = new Map<string, () => void>();

  constructor(more: Partial<SolveOptions> = {}) {
    const tell = (event: CaptchaEvent): void => {
      this.events.push(event);
      this.#waiting.get(event.type)?.();
    };
    this.options = { ...limit(), deadlineMs: 15_000, tell, watch: this.watch, ...more };
  }

  types(): CaptchaEvent['type'][] {
    return this.events.map(({ type }) => type);
  }

  /** Resolves when it was told of this. */
  async of(type: CaptchaEvent['type']): Promise<void> {
    if (!this.types().includes(type)) await new Promise<void>((resolve) => void this.#waiting.set(type, resolve));
  }
}
