import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ServerResponse } from 'node:http';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { NavigationError } from '../browser.ts';
import type { NavigationResult, Page } from './page.ts';
import { launch, settings, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

type Reply = (_: unknown, response: ServerResponse) => void;
let slow: ServerResponse[] = [];
const document =
  (status: number, title: string, headers: Record<string, string> = {}): Reply =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(`<title>${title}</title>`);

const replies = {
  '/one': '<title>one</title>',
  '/two': document(404, 'two', { 'set-cookie': 'a=1', 'x-two': '2', 'cache-control': 'no-store' }),
  '/from': document(302, '', { location: '/one', 'cache-control': 'no-store' }),
  '/half': '<title>half</title><img src="/never">',
  '/never': () => {},
  '/slow': ((_, response) => void slow.push(response)) satisfies Reply,
  '/hang': '<title>hang</title>',
  '/frame': '<title>frame</title><iframe src="{other}/one"></iframe>',
};

let pages: Pages;
let launched: Launched;
let page: Page;

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  await launched.browser.prepare(settings({ extraHeaders: { 'x-session': 's', 'x-both': 's' } }));
  page = launched.browser.page(launched.browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

const options = { waitUntil: 'load', timeoutMs: 20_000 } as const;
const go = (path: string): Promise<NavigationResult> => page.navigate({ url: pages.url + path, ...options }, call());

describe('history', () => {
  it('history goes back and forward, and ends', async () => {
    await go('/one');
    await go('/two');
    const back = await page.history(-1, options, call());
    assert.deepEqual([back?.finalUrl, back?.title], [`${pages.url}/one`, 'one']);
    const forward = await page.history(1, options, call());
    assert.deepEqual(
      [forward?.finalUrl, forward?.title, forward?.statusCode, forward?.headers['x-two'], forward?.cookieNames],
      [`${pages.url}/two`, 'two', 404, '2', ['a']],
    );
    assert.equal(await page.history(1, options, call()), null);
  });

  it('history moves within a document', async () => {
    await go('/two');
    await page.evaluate(page.mainFrame(), 'history.pushState(0, "", "#part")', call());
    const back = await page.history(-1, options, call());
    assert.deepEqual([back?.finalUrl, back?.statusCode], [`${pages.url}/two`, 404]);
  });

  it('history goes to another site and back', async () => {
    await go('/one');
    await page.navigate({ url: `${pages.otherSite}/one`, ...options }, call());
    assert.equal((await page.history(-1, options, call()))?.finalUrl, `${pages.url}/one`);
    assert.equal(await page.call(page.mainFrame(), '() => location.hostname', [], call()), '127.0.0.1');
  });

  it('going back ends at its timeout', async () => {
    await page.navigate({ url: `${pages.url}/half`, waitUntil: 'commit', timeoutMs: 20_000 }, call());
    await assert.rejects(
      page.reload({ ...options, timeoutMs: 400 }, call()),
      (error) => error instanceof NavigationError && error.reason === 'timeout' && error.netError === 'net::ERR_TIMED_OUT',
    );
    assert.equal((await page.reload({ ...options, waitUntil: 'domcontentloaded' }, call())).title, 'half');
  });
});

describe('reload', () => {
  it('a reload and going back lead on where the page does, as a navigation would', async () => {
    const { '/one': one } = replies;
    await go('/one');
    pages.replies['/one'] = '<meta http-equiv="refresh" content="0;url=/two">';
    const again = await page.reload(options, call());
    assert.deepEqual([again.title, again.redirects.map(({ url }) => url)], ['two', [`${pages.url}/one`]]);
    await go('/two');
    pages.replies['/two'] = '<script>location.replace("/hang")</script>';
    await page.navigate({ url: `${pages.otherSite}/one`, ...options }, call());
    assert.equal((await page.history(-1, options, call()))?.title, 'hang');
    Object.assign(pages.replies, { '/one': one, '/two': replies['/two'] });
  });

  it('a reload that is answered without content keeps the page and says so', async () => {
    await go('/one');
    pages.replies['/one'] = (_, response) => void response.writeHead(204).end();
    const { statusCode, title, finalUrl } = await page.reload(options, call());
    pages.replies['/one'] = replies['/one'];
    assert.deepEqual([statusCode, title, finalUrl], [204, 'one', `${pages.url}/one`]);
  });

  it('a reload returns the current response of the server', async () => {
    await go('/one');
    pages.replies['/one'] = document(503, 'broken');
    const result = await page.reload(options, call());
    assert.deepEqual([result.statusCode, result.title, result.redirects], [503, 'broken', []]);
    assert.ok(result.ttfbMs !== null && result.ttfbMs >= 0);
    pages.replies['/one'] = (_, response) => void response.socket?.destroy();
    await assert.rejects(page.reload(options, call()), NavigationError);
    pages.replies['/one'] = replies['/one'];
    assert.equal((await page.reload(options, call())).title, 'one');
  });
});

describe('a page that hangs or has crashed', () => {
  it('a page that hangs or has crashed is left by a navigation within its timeout', async () => {
    await go('/one');
    await go('/hang');
    await assert.rejects(page.call(page.mainFrame(), '() => { while (true); }', [], { ...call(), timeoutMs: 1000 }), { reason: 'timeout' });
    const begin = performance.now();
    await assert.rejects(page.reload({ ...options, timeoutMs: 300 }, call()), { reason: 'timeout' });
    assertPrompt(begin, 10_000);
    assert.equal((await page.history(-1, options, call()))?.title, 'one');
  });

  it('a page that hangs or has crashed is loaded again by a reload', async () => {
    await go('/one');
    await page.navigate({ url: 'chrome://crash', ...options }, call()).catch(() => {});
    await assert.rejects(page.call(page.mainFrame(), '() => 1', [], call()), { reason: 'page_crashed' });
    assert.equal((await page.reload(options, call())).title, 'one');
    assert.equal(await page.call(page.mainFrame(), '() => document.title', [], call()), 'one');
  });
});

describe('headers of a page', () => {
  it('headers of a page are sent by it, its frames and later documents, and by no other page', async () => {
    await page.setExtraHeaders({ 'x-page': 'p', 'x-both': 'p' }, call());
    for (let turn = 0; turn < 2; turn += 1) {
      const before = pages.requests.length;
      await go('/frame');
      const requests = pages.requests.slice(before).filter(({ path }) => path !== '/favicon.ico');
      assert.deepEqual(
        requests.map(({ path, headers }) => [path, headers['x-page'], headers['x-both']]),
        [
          ['/frame', 'p', 'p'],
          ['/one', 'p', 'p'],
        ],
      );
    }
    const { tabId } = await launched.browser.openTab({ active: true, ...call() });
    await launched.browser.navigate(tabId, { url: `${pages.url}/one`, ...options }, call());
    assert.equal(pages.requests.findLast(({ path }) => path === '/one')?.headers['x-page'], undefined);
    await launched.browser.closeTab(tabId, call());
    await page.setExtraHeaders({}, call());
    await go('/one');
    assert.equal(pages.requests.findLast(({ path }) => path === '/one')?.headers['x-page'], undefined);
  });
});

describe('a quiet network', () => {
  it('an empty page has a quiet network, also after going back', async () => {
    const { tabId } = await launched.browser.openTab({ active: true, ...call() });
    await launched.browser.page(tabId).networkIdle({ ...call(), timeoutMs: 20_000 });
    await launched.browser.closeTab(tabId, call());
    await go('/one');
    await go('/frame');
    await page.history(-1, options, call());
    await page.networkIdle({ ...call(), timeoutMs: 20_000 });
  });

  it('a quiet network is awaited no longer than the timeout', async () => {
    await go('/one');
    // From now on, a script of ours is one message away: half a second of quiet would end the wait before it.
    await page.evaluate(page.mainFrame(), '0', call());
    const awaited = assert.rejects(page.networkIdle({ ...call(), timeoutMs: 1500 }), { reason: 'timeout' });
    // The browser reads it after the wait has begun, which a timer of the page might not wait for.
    await page.evaluate(page.mainFrame(), 'void fetch("/slow")', call());
    await awaited;
    const idle = page.networkIdle(call());
    for (const response of slow.splice(0)) response.end('x');
    await idle;
    await page.networkIdle(call());
    slow = [];
  });
});
