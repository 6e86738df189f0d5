import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { openBridge, type Bridge } from '../../../testing/bridge.ts';
import { launch, settings, type Launched } from '../../../testing/launch.ts';
import { call, freshPage, until } from '../../../testing/on-page.ts';
import { openSite, type Site } from '../../../testing/site.ts';
import { defaultSettings } from './settings.ts';
import { PopupSizes, viewportOf } from './popup-sizes.ts';
import type { Tab } from './tab.ts';

const withOpener = { canAccessOpener: true };
const withoutOpener = { canAccessOpener: false };

describe('the size of a popup', () => {
  const opening = (...windowFeatures: string[]): Parameters<PopupSizes['onOpening']>[1] => ({
    url: '',
    windowName: '',
    windowFeatures,
    userGesture: true,
  });
  const opener = {} as Tab;
  const take = (popups: PopupSizes, of: typeof withOpener): (number | null)[] | null => {
    const size = popups.take(opener, of);
    return size && [size.width, size.height];
  };

  it('the size of a popup is that of the window that its page opens last, or of the first without access to it', () => {
    const popups = new PopupSizes();
    popups.onOpening(opener, opening('width=300', 'height=200', 'resizable'));
    popups.onOpening(opener, opening('width=301', 'noopener'));
    popups.onOpening(opener, opening('width=302', 'height=202', 'noopener'));
    popups.onOpening(opener, opening('width=303', 'height=203'));
    assert.deepEqual(take(popups, withOpener), [303, 203]);
    assert.deepEqual(take(popups, withOpener), null);
    assert.deepEqual(take(popups, withoutOpener), [301, null]);
    assert.deepEqual(take(popups, withoutOpener), [302, 202]);
    popups.onOpening(opener, opening('width=300', 'height=200'));
    popups.onOpening(opener, opening('menubar', 'toolbar'));
    assert.deepEqual(take(popups, withOpener), null);
  });

  it("the size of a popup is between 100 pixels and the session's viewport", () => {
    const sizeOf = (width: number | null, height: number | null): number[] => {
      const viewport = viewportOf({ popupSize: { width, height } }, defaultSettings);
      return [viewport.width, viewport.height];
    };
    assert.deepEqual(
      [sizeOf(600, null), sizeOf(1, 5000), sizeOf(null, 300)],
      [
        [600, 720],
        [100, 720],
        [1280, 300],
      ],
    );
  });
});

describe('popups that ask for a size', () => {
  let site: Site;
  let launched: Launched;
  let bridge: Bridge;
  before(async () => {
    site = await openSite();
    launched = await launch({ flags: ['--disable-popup-blocking', '--window-size=1000,787', '--window-position=0,0'] });
    await launched.browser.prepare(settings({ viewport: { width: 1000, height: 700, device_scale_factor: 1 }, tabLimit: 30 }));
  });
  after(async () => {
    await launched.end();
    await site.close();
  });
  beforeEach(async () => {
    await freshPage(launched.browser);
    bridge = await openBridge(launched.browser);
  });
  afterEach(() => bridge.close());

  /** Opens a popup without reading its size, because the opener may get the previous one at first. */
  const open = (features: string): string => `void window.open('/child', '', '${features}')`;
  /** The sizes that the first script read, and those of now. */
  const sizes = '[first.inner, innerWidth, innerHeight]';

  it('popups have the size that they ask for without a client, beside tabs with the viewport of the session', async () => {
    const { browser } = launched;
    const page = browser.page(browser.activeTab().tabId);
    await page.navigate({ url: `${site.url}/`, waitUntil: 'load', timeoutMs: 20_000 }, call());
    const run = (expression: string): Promise<unknown> => page.evaluate(page.mainFrame(), expression, call());
    for (const features of ['width=600,height=300', '', 'popup,height=200', 'noopener,width=500,height=400']) {
      const tabs = browser.tabs().length;
      await run(open(features));
      await until(() => browser.tabs().length > tabs);
    }
    const inEach = (expression: string): Promise<unknown[]> =>
      Promise.all(
        browser
          .tabs()
          .slice(1)
          .map(({ tabId }) => browser.page(tabId).evaluate(tabId, expression, call())),
      );
    while ((await inEach('typeof first')).includes('undefined')) await sleep(20);
    assert.deepEqual(await inEach(sizes), [
      [600, 600, 300],
      [1000, 1000, 700],
      [1000, 1000, 200],
      [500, 500, 400],
    ]);
  });

  it('popups have the size that they ask for with Playwright, whatever the viewport of its context is', async () => {
    const browser = await chromium.connectOverCDP(bridge.url);
    const contexts = [browser.contexts()[0]!, await browser.newContext({ viewport: null }), await browser.newContext()];
    for (const context of contexts) {
      const page = context.pages()[0] ?? (await context.newPage());
      await page.goto(site.url);
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(open('width=600,height=300'))]);
      await popup.waitForFunction('globalThis.first');
      assert.deepEqual(await popup.evaluate(sizes), [600, 600, 300]);
      await popup.close();
    }
    await browser.close();
  });

  it('popups have the size that they ask for with Puppeteer, and after a screenshot of the whole page', async () => {
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const page = (await browser.pages())[0]!;
    await page.goto(site.url);
    const [popup] = await Promise.all([
      new Promise<Awaited<ReturnType<typeof browser.newPage>> | null>((resolve) => page.once('popup', resolve)),
      page.evaluate(open('width=600,height=300')),
    ]);
    await popup!.waitForFunction('globalThis.first');
    assert.deepEqual(await popup!.evaluate(sizes), [600, 600, 300]);
    await popup!.screenshot({ fullPage: true });
    await popup!.waitForFunction('innerWidth === 600 && innerHeight === 300 && outerWidth === 600');
    await browser.disconnect();
  });
});
