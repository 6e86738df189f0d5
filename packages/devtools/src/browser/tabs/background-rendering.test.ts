import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';
import type { Browser } from '../browser.ts';
import { openBridge } from '../../../testing/bridge.ts';
import { launch, onCommand, settings, type Launched } from '../../../testing/launch.ts';
import { call, until } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

const replies = {
  '/moving': `<title>moving</title><style>@keyframes there { to { transform: translateX(900px) } }
    div { width: 200px; height: 200px; background: green; animation: there 1s infinite alternate linear }</style><div></div>
    <script>drawn = 0; const next = () => { drawn += 1; requestAnimationFrame(next); }; next();</script>`,
  '/outer': `<title>outer</title><iframe src="{other}/moving"></iframe>`,
};
/** Minimum frames in a second of a page that is drawn. A covered page has one, after its first three. */
const framesMin = 10;

let pages: Pages;
let launched: Launched;
let browser: Browser;
let covered: string;
let starts = 0;
/** Sessions by which pages are drawn. */
const drawing = new Set<string>();
let cleanUps: (() => Promise<void>)[] = [];

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  ({ browser } = launched);
  await browser.prepare(settings());
  onCommand(launched.cdp, (method, message) => {
    const sessionId = /"sessionId":"(\w+)"/.exec(message)?.[1] ?? '';
    if (method === 'Page.startScreencast' && message.includes('"everyNthFrame"')) {
      starts += 1;
      drawing.add(sessionId);
    } else if (method === 'Target.detachFromTarget') drawing.delete(sessionId);
  });
});
after(async () => {
  await launched.end();
  await pages.close();
});
afterEach(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
  cleanUps = [];
});

const isDrawn = (): boolean => drawing.size > 0;
const go = (tabId: string, url = `${pages.url}/moving`): Promise<unknown> =>
  browser.navigate(tabId, { url, waitUntil: 'load', timeoutMs: 20_000 }, call());
const open = async (): Promise<string> => (await browser.openTab({ active: true, ...call() })).tabId;
const closeOthers = async (): Promise<void> => {
  for (const { tabId } of browser.tabs()) if (tabId !== covered) await browser.closeTab(tabId, call());
};
const readFrames = (): Promise<number> => browser.page(covered).evaluate<number>(covered, 'drawn', call());
/** The frames of the covered page in a second in which nothing else is asked of it. */
const framesInASecond = async (): Promise<number> => {
  const first = await readFrames();
  await sleep(1000);
  return (await readFrames()) - first;
};
const isFast = async (): Promise<boolean> => (await framesInASecond()) >= framesMin;

/** A customer's Playwright, and its page of the covered tab. */
async function customer(path = '/moving'): Promise<Page> {
  const bridge = await openBridge(browser);
  cleanUps.push(() => bridge.close());
  const client = await chromium.connectOverCDP(bridge.url);
  cleanUps.unshift(() => client.close());
  const page = client
    .contexts()[0]
    ?.pages()
    .find((each) => each.url().endsWith(path));
  return page ?? assert.fail(`no page of ${path}`);
}

describe('a page behind another one', () => {
  beforeEach(async () => {
    covered = browser.activeTab().tabId;
    await closeOthers();
    await until(() => !isDrawn());
    await go(covered);
    await open();
    starts = 0;
  });

  it('a page behind another one is drawn while it is driven, also when it moves to another site, and no longer', async () => {
    await until(isFast, 60_000);
    await go(covered, `${pages.otherSite}/moving`);
    await until(isFast, 60_000);
    assert.ok(isDrawn());
    await until(() => !isDrawn());
    assert.equal(starts, 1);
    await readFrames();
    await until(isDrawn);
  });

  it('a page behind another one is drawn as long as a client that drives it waits for a reply', async () => {
    const page = await customer();
    await until(() => !isDrawn());
    const halfMs = 4000;
    const expression = `new Promise((done) => { const first = drawn; setTimeout(() => { const then = drawn;
      setTimeout(() => done([then - first, drawn - then]), ${halfMs}); }, ${halfMs}); })`;
    await until(async () => {
      const halves = await page.evaluate<number[]>(expression);
      return Math.min(...halves) >= (framesMin * halfMs) / 1000;
    }, 60_000);
    await until(() => !isDrawn());
  });

  it('a page behind another one is drawn for a client that drives one of its frames in another process', async () => {
    await go(covered, `${pages.url}/outer`);
    const page = await customer('/outer');
    await until(() => !isDrawn());
    const [, frame] = page.frames();
    await until(async () => {
      const frames = await frame?.evaluate<number>(
        'new Promise((done) => { const first = drawn; setTimeout(() => done(drawn - first), 1000); })',
      );
      return isDrawn() && (frames ?? 0) >= framesMin;
    }, 60_000);
  });

  it('no background rendering is started for the page in front, by whomever it was brought there', async () => {
    const page = await customer();
    await until(() => !isDrawn());
    starts = 0;
    const opened = await page.context().newPage();
    await opened.evaluate('1');
    assert.equal(starts, 0);
    await page.evaluate('1');
    await until(isDrawn);
    await page.bringToFront();
    await page.evaluate('1');
    await until(() => !isDrawn());
    await browser.page(covered).evaluate(covered, '1', call());
    assert.equal(starts, 1);
  });

  it('a page behind another one is not shown to the viewers of the tab in front, nor is its smallest image', async () => {
    const sizes = new Set<string>();
    const demand = { maxWidth: 640, maxHeight: 480, quality: 60, framesPerSecond: 15 };
    const front = browser.activeTab().tabId;
    await go(front);
    let frames = 0;
    const { detach } = browser.attachScreencast({
      demand: () => demand,
      isReady: () => true,
      onFrame: ({ tabId, data, width, height }) => {
        frames += 1;
        sizes.add(`${tabId} ${width} ${height} ${data.length > 1000}`);
      },
    });
    await until(async () => frames > 5 && (await isFast()), 60_000);
    detach();
    const { width, height } = settings().viewport;
    assert.deepEqual([...sizes], [`${front} ${width} ${height} true`]);
  });
});

it('a page that has its window for itself is drawn without background rendering', async () => {
  covered = browser.activeTab().tabId;
  await closeOthers();
  await until(() => !isDrawn());
  starts = 0;
  await go(covered);
  await until(isFast, 60_000);
  assert.equal(starts, 0);
});
