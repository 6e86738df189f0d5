/** One page of a browser, and the site that it shows, for all tests of a file or of a suite. */
import { after, before } from 'node:test';
import type { CallOptions, Page } from '../src/browser/page/page.ts';
import { launch, settings, type Launched } from './launch.ts';
import { openPages, type TestSite } from './steps.ts';

export interface ShownPage {
  readonly launched: Launched;
  readonly site: TestSite;
  readonly page: Page;
  /** Limits of a call that begins now. */
  call(): CallOptions;
  /** Serves this HTML at `/`, and opens it. */
  show(html: string): Promise<void>;
  /** Runs a function in the page, and resolves with what it returns. */
  run(script: string): Promise<unknown>;
}

/** Opens them before the tests that are declared where it is called, and closes them after. */
export function shownPage(): ShownPage {
  let opened: { launched: Launched; site: TestSite; page: Page };
  before(async () => {
    const [launched, site] = await Promise.all([launch(), openPages()]);
    const { browser } = launched;
    opened = { launched, site, page: browser.page(browser.activeTab().tabId) };
    await browser.prepare(settings());
  });
  after(async () => {
    await opened.launched.end();
    await opened.site.close();
  });
  const shown: ShownPage = {
    get launched() {
      return opened.launched;
    },
    get site() {
      return opened.site;
    },
    get page() {
      return opened.page;
    },
    call: () => ({ timeoutMs: 60_000, signal: AbortSignal.timeout(100_000) }),
    async show(html) {
      shown.site.pages.set('/', html);
      await shown.page.navigate({ url: `${shown.site.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, shown.call());
    },
    run: (script) => shown.page.evaluate(shown.page.mainFrame(), script, shown.call()),
  };
  return shown;
}
