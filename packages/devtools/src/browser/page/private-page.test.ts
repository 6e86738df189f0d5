import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { LoadRequest, LoadResult, NetworkEntry, PrivatePage, PrivateSettings } from '../browser.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { until } from '../../../testing/on-page.ts';

const html = (title: string, body = ''): string => `<!doctype html><title>${title}</title>${body}`;

/** Requests of `/late`, which are answered after the file was sent. */
const late: ServerResponse[] = [];
const arrivals = new EventEmitter();
/** Sends what a page loads beside its document, and then what the document waits for. */
async function sendBeforeLate(response: ServerResponse, send: () => void): Promise<void> {
  if (late.length === 0) await once(arrivals, 'late');
  response.on('close', () => late.splice(0).forEach((waiting) => waiting.writeHead(404).end()));
  send();
}
/** A page that starts to load something else while it loads itself. */
const starting = (path: string): string => html('offers', `<h1>Offers</h1><img src="/late"><script>location.href = "${path}"</script>`);

const site: RequestListener = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
  const reply = (type: string, body: string | Buffer, headers: Record<string, string | string[]> = {}, status = 200): void => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);
  };
  if (pathname === '/') reply('text/html', html('home', '<h1>Home</h1>'), { 'set-cookie': ['one=1; Path=/', 'two=2; Path=/'] });
  else if (pathname === '/cookie') reply('text/html', html(request.headers.cookie ?? 'none'));
  else if (pathname === '/header') reply('text/html', html(String(request.headers['x-asked'])));
  else if (pathname === '/json') reply('application/json', '{"a":[1,2]}');
  else if (pathname === '/file') reply('text/html', 'not shown', { 'content-disposition': 'attachment; filename="a.html"' });
  else if (pathname === '/offers') reply('text/html', starting(searchParams.get('then') ?? ''));
  else if (pathname === '/late') {
    late.push(response);
    arrivals.emit('late');
  } else if (pathname === '/attached')
    void sendBeforeLate(response, () => reply('text/plain', 'saved', { 'content-disposition': 'attachment; filename="a.txt"' }));
  else if (pathname === '/archive') void sendBeforeLate(response, () => reply('application/zip', 'saved'));
  else if (pathname === '/to-attached') response.writeHead(302, { location: '/attached' }).end();
  else if (pathname === '/nothing') void sendBeforeLate(response, () => response.writeHead(204).end());
  else if (pathname === '/bare') response.writeHead(200).end(html('bare', '<p>no type'));
  else if (pathname === '/big') reply('application/octet-stream', Buffer.alloc(3_000_000, 7));
  else if (pathname === '/204') response.writeHead(204).end();
  else if (pathname === '/304') response.writeHead(304).end();
  else if (pathname === '/hops') response.writeHead(301, { location: '/hop2' }).end();
  else if (pathname === '/hop2') response.writeHead(302, { location: '/json' }).end();
  else if (pathname === '/onward') reply('text/html', html('onward', '<script>location.href = "/json"</script>'));
  else if (pathname === '/half') reply('text/html', html('half', '<h1>Half</h1><img src="/hang">'));
  else if (pathname === '/framed') reply('text/html', html('framed', '<iframe src="/json"></iframe><iframe src="/"></iframe>'));
  else if (pathname === '/image') reply('text/html', html('image', '<img src="/pixel">'));
  else if (pathname === '/pixel') reply('image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg"><!--${'x'.repeat(10_000)}--></svg>`);
  else if (pathname === '/windows') reply('text/html', html('windows', '<script>for (let n = 0; n < 20; n++) open("/?" + n)</script>'));
  else if (pathname !== '/hang') reply('text/html', html('missing'), {}, 404);
};

describe('a private page', () => {
  let chromium: Launched;
  let url: string;
  const server = createServer(site);
  const { signal } = new AbortController();

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    chromium = await launch();
  });

  after(async () => {
    await chromium.end();
    server.closeAllConnections();
    server.close();
  });

  const plain: PrivateSettings = { blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: false };
  const requestFor = (path: string, options: Partial<LoadRequest> = {}): LoadRequest => ({
    url: url + path,
    waitUntil: 'load',
    timeoutMs: 20_000,
    showAnything: false,
    keepBody: false,
    readsPage: false,
    bodyBytesMax: 1_000_000,
    ...options,
  });

  async function visit<T>(work: (page: PrivatePage) => Promise<T>, settings: Partial<PrivateSettings> = {}): Promise<T> {
    const page = await chromium.browser.openPrivate({ signal });
    try {
      await page.prepare({ ...plain, ...settings }, { signal });
      return await work(page);
    } finally {
      await page.close();
    }
  }
  const load = (path: string, options?: Partial<LoadRequest>, settings?: Partial<PrivateSettings>): Promise<LoadResult> =>
    visit((page) => page.load(requestFor(path, options), { signal }), settings);

  /** The page's requests without those of the browser for an icon, which come at any time. */
  const requestsOf = (page: PrivatePage): NetworkEntry[] => page.network().entries.filter((entry) => !entry.url.endsWith('/favicon.ico'));

  it('a private page returns the document as the network delivered it', async () => {
    const result = await load('/');
    assert.equal(result.statusCode, 200);
    assert.equal(result.contentType, 'text/html');
    assert.deepEqual(result.cookieNames, ['one', 'two']);
    assert.equal(result.headers['set-cookie'], undefined);
    assert.equal(result.body, null);
    assert.equal((await load('/nowhere')).statusCode, 404);
  });

  it('a private page is invisible to callers, and leaves nothing behind', async () => {
    const tabs = chromium.browser.tabs();
    await visit(async (page) => {
      await page.load(requestFor('/'), { signal });
      assert.deepEqual(chromium.browser.tabs(), tabs);
      assert.equal((await page.load(requestFor('/cookie'), { signal })).title, 'one=1; two=2');
    });
    assert.equal((await load('/cookie')).title, 'none');
  });

  it('a private page sends the cookies and headers that it was given', async () => {
    assert.equal((await load('/cookie', {}, { cookies: [{ name: 'mine', value: 'yes', url }] })).title, 'mine=yes');
    assert.equal((await load('/header', {}, { extraHeaders: { 'x-asked': 'this' } })).title, 'this');
  });

  it('a private page returns the bytes of a response that is no page', async () => {
    const { body, statusCode, finalUrl, contentType, redirects } = await load('/hops');
    assert.deepEqual(
      { text: body?.data.toString(), statusCode, finalUrl, contentType, redirects },
      {
        text: '{"a":[1,2]}',
        statusCode: 200,
        finalUrl: `${url}/json`,
        contentType: 'application/json',
        redirects: [
          { url: `${url}/hops`, statusCode: 301 },
          { url: `${url}/hop2`, statusCode: 302 },
        ],
      },
    );
    assert.equal((await load('/file')).body?.data.toString(), 'not shown');
    assert.equal((await load('/onward', { waitUntil: 'networkidle' })).body?.data.toString(), '{"a":[1,2]}');
    const big = await load('/big');
    assert.equal(big.body?.data.length, 1_000_000);
    assert.equal(big.body?.truncated, true);
  });

  for (const then of ['/attached', '/to-attached', '/archive', '/nothing'])
    it(`a private page is returned although it starts to load ${then} while it loads`, async () => {
      const { title, statusCode, body, timedOut, finalUrl } = await load(`/offers?then=${then}`, { timeoutMs: 30_000 });
      assert.deepEqual({ title, statusCode, body, timedOut }, { title: 'offers', statusCode: 200, body: null, timedOut: false });
      assert.equal(finalUrl, `${url}/offers?then=${then}`);
    });

  it('a private page reports nothing of the page before for one that never answers', async () => {
    await visit(async (page) => {
      await page.load(requestFor('/', { keepBody: true }), { signal });
      await assert.rejects(page.load(requestFor('/hang', { timeoutMs: 1000 }), { signal }), { reason: 'timeout' });
      assert.equal(await page.documentBody({ signal, maxBytes: 1000 }), null);
    });
  });

  it('a private page shows other content on request', async () => {
    const shown = await visit(async (page) => {
      const result = await page.load(requestFor('/json', { showAnything: true }), { signal });
      const text = await page.page.call<string>(page.page.mainFrame(), '() => document.body.innerText', [], { signal, timeoutMs: 20_000 });
      return { outcome: result, text };
    });
    assert.equal(shown.outcome.body, null);
    assert.match(shown.text, /\{"a":\[1,2\]\}/);
  });

  it('a private page shows a page without a type, and keeps the bytes of a page', async () => {
    assert.equal((await load('/bare')).title, 'bare');
    const body = await visit(async (page) => {
      assert.equal((await page.load(requestFor('/', { keepBody: true }), { signal })).title, 'home');
      return page.documentBody({ signal, maxBytes: 1000 });
    });
    assert.equal(body?.data.toString(), html('home', '<h1>Home</h1>'));
  });

  it('a private page returns responses without a document as they are', async () => {
    assert.equal((await load('/204')).statusCode, 204);
    assert.equal((await load('/304')).statusCode, 304);
  });

  it('a private page that never loads returns what has arrived', async () => {
    // A timeout that is enough for the document, and a tenth of it for the title.
    const partial = await load('/half', { timeoutMs: 6000 });
    assert.deepEqual(
      { timedOut: partial.timedOut, statusCode: partial.statusCode, title: partial.title },
      { timedOut: true, statusCode: 200, title: 'half' },
    );
    await assert.rejects(load('/hang', { timeoutMs: 1000 }), { name: 'NavigationError', reason: 'timeout' });
  });

  it('a private page leaves the documents of frames unchanged', async () => assert.equal((await load('/framed')).title, 'framed'));

  it('a private page counts what came over the network for it', async () => {
    const bytes = await visit(async (page) => {
      await page.load(requestFor('/image'), { signal });
      assert.deepEqual(
        requestsOf(page).map(({ url: address, status }) => [address.slice(url.length), status]),
        [
          ['/image', 200],
          ['/pixel', 200],
        ],
      );
      // The last event of a request comes a moment after the page has loaded.
      await until(() => page.bytes().in > 10_000);
      return page.bytes();
    });
    assert.ok(bytes.in > 10_000 && bytes.in < 14_000, `${bytes.in} bytes in`);
    assert.ok(bytes.out > 200, `${bytes.out} bytes out`);
  });

  it('a private page does not request blocked kinds of resources', async () => {
    await visit(
      async (page) => {
        await page.load(requestFor('/image'), { signal });
        assert.deepEqual(
          requestsOf(page).map(({ error }) => error),
          [null, 'inspector'],
        );
      },
      { blockResources: ['image'] },
    );
  });

  it('a private page holds back a flood of windows', async () => {
    const tabs = chromium.browser.tabs();
    assert.equal((await load('/windows')).title, 'windows');
    assert.deepEqual(chromium.browser.tabs(), tabs);
  });

  it('a private page borrows a tab of the session and gives it back as it was', async () => {
    const [tab] = chromium.browser.tabs();
    const page = chromium.browser.borrow(tab?.tabId ?? '');
    await page.prepare({ ...plain, extraHeaders: { 'x-asked': 'this' } }, { signal });
    assert.equal((await page.load(requestFor('/header'), { signal })).title, 'this');
    assert.equal((await page.load(requestFor('/json'), { signal })).body?.data.toString(), '{"a":[1,2]}');
    await page.close();
    const options = { url: `${url}/header`, waitUntil: 'load' as const, timeoutMs: 20_000 };
    assert.equal((await chromium.browser.navigate(tab?.tabId ?? '', options, { signal })).title, 'undefined');
  });
});
