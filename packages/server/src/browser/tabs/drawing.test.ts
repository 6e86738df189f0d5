import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from '../browser.ts';
import { launch, settings, type Launched } from '../testing/launch.ts';
import { call, until } from '../testing/on-page.ts';
import { openPages, type Pages } from '../testing/pages.ts';

const replies = {
  '/moving': `<title>moving</title><style>@keyframes there { to { transform: translateX(900px) } }
    div { width: 200px; height: 200px; background: green; animation: there 1s infinite alternate linear }</style><div></div>
    <script>frames_ = 0; const next = () => { frames_ += 1; requestAnimationFrame(next); }; next();</script>`,
};
/** In a second. A covered page has one, after its first three. */
const framesMin = 10;

let pages: Pages;
let launched: Launched;
let browser: Browser;
let covered: string;
let sent: string[] = [];

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  ({ browser } = launched);
  await browser.prepare(settings());
  const write = launched.cdp.write.bind(launched.cdp);
  launched.cdp.write = ((message: string) => {
    sent.push(/"method":"([^"]+)"/.exec(message)?.[1] ?? '');
    return write(message);
  }) as typeof launched.cdp.write;
});
after(async () => {
  await launched.end();
  await pages.close();
});

const go = (tabId: string, url = pages.url): Promise<unknown> =>
  browser.navigate(tabId, { url: `${url}/moving`, waitUntil: 'load', timeoutMs: 20_000 }, call());
const count = (method: string): number => sent.filter((each) => each === method).length;
const isDrawn = (): boolean => count('Page.startScreencast') > count('Target.detachFromTarget');
const open = async (): Promise<string> => (await browser.openTab({ active: true, ...call() })).tabId;
/** Of the covered page, in a second in which it is asked for nothing else. */
const framesOf = async (read: () => Promise<number>): Promise<number> => {
  const first = await read();
  await sleep(1000);
  return (await read()) - first;
};
const readFrames = (): Promise<number> => browser.page(covered).evaluate<number>(covered, 'frames_', call());

/** A customer's client that is attached to the covered page. */
async function customer() {
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  let lastId = 0;
  const client = await browser.connectClient({
    send: (message) => {
      const { id = 0, result } = JSON.parse(message.toString()) as { id?: number; result?: Record<string, unknown> };
      waiting.get(id)?.(result ?? {});
    },
    onClose: () => {},
  });
  const ask = (method: string, params: object, sessionId?: unknown): Promise<Record<string, unknown>> => {
    const id = ++lastId;
    const reply = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve));
    void client.receive(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    return reply;
  };
  const { sessionId } = await ask('Target.attachToTarget', { targetId: covered, flatten: true });
  const opened = async (): Promise<string> => String((await ask('Target.createTarget', { url: 'about:blank' }))['targetId']);
  return { client, open: opened, ask: (method: string, params: object) => ask(method, params, sessionId) };
}

describe('a page behind another one', { timeout: 180_000 }, () => {
  beforeEach(async () => {
    covered = browser.activeTab().tabId;
    for (const { tabId } of browser.tabs()) if (tabId !== covered) await browser.closeTab(tabId, call());
    await until(() => !isDrawn());
    await go(covered);
    await open();
    sent = [];
  });

  it('is drawn while it is driven, also when it moves to another site, and no longer', async () => {
    await until(async () => (await framesOf(readFrames)) >= framesMin, 60_000);
    await go(covered, pages.otherSite);
    await until(async () => (await framesOf(readFrames)) >= framesMin, 60_000);
    assert.ok(isDrawn());
    await until(() => !isDrawn());
    assert.deepEqual([count('Page.startScreencast'), count('Target.detachFromTarget')], [1, 1]);
  });

  it('is drawn for a client that drives it, as long as the client waits for a reply', async () => {
    const { client, ask } = await customer();
    await ask('Emulation.setFocusEmulationEnabled', { enabled: true });
    assert.equal(isDrawn(), false, 'a client that only watches drives nothing');
    const longMs = 8000;
    const expression = `new Promise((done) => { const first = frames_; setTimeout(() => { const then = frames_;
      setTimeout(() => done([then - first, frames_ - then]), ${longMs / 2}); }, ${longMs / 2}); })`;
    await until(async () => {
      const { result } = await ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      const [early = 0, late = 0] = (result as { value: number[] }).value;
      return Math.min(early, late) >= (framesMin * longMs) / 2000;
    }, 60_000);
    client.close();
    await until(() => !isDrawn());
  });

  it('costs nothing for the one in front, by whomever it was brought there', async () => {
    const driven = (): Promise<unknown> => browser.page(covered).evaluate(covered, '1', call());
    covered = browser.activeTab().tabId;
    await driven();
    const { client, open: opened } = await customer();
    covered = await opened();
    await driven();
    assert.equal(count('Page.startScreencast'), 0);
    await browser.activateTab(browser.activeTab().tabId, call());
    await driven();
    await until(isDrawn);
    await browser.activateTab(covered, call());
    await until(() => !isDrawn());
    client.close();
  });

  it('is not shown to the viewers of the tab in front, nor is its smallest image', async () => {
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
    await until(async () => frames > 5 && (await framesOf(readFrames)) >= framesMin, 60_000);
    detach();
    const { width, height } = settings().viewport;
    assert.deepEqual([...sizes], [`${front} ${width} ${height} true`]);
  });
});

it('a page that has its window for itself is drawn anyway', { timeout: 60_000 }, async () => {
  covered = browser.activeTab().tabId;
  for (const { tabId } of browser.tabs()) if (tabId !== covered) await browser.closeTab(tabId, call());
  sent = [];
  await go(covered);
  await until(async () => (await framesOf(readFrames)) >= framesMin, 60_000);
  assert.equal(count('Target.attachToTarget'), 0);
});
