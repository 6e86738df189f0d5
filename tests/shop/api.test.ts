import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { ada } from './pages/account.ts';
import { products } from './data.ts';
import { startShop, type Shop } from './shop.ts';
import { totp } from './totp.ts';

describe('the API of the shop', () => {
  let shop: Shop;
  before(async () => void (shop = await startShop()));
  after(() => shop?.close());

  const call = async (path: string, options: RequestInit = {}) => {
    const answer = await fetch(shop.url + path, { redirect: 'manual', ...options });
    const text = await answer.text();
    const body = (answer.headers.get('content-type')?.includes('json') && text ? JSON.parse(text) : text) as never;
    return { status: answer.status, headers: answer.headers, body };
  };
  const post = (value: unknown, headers: Record<string, string> = {}): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  });

  it('the API of the shop lists products by page and answers 304 to an unchanged ETag', async () => {
    const { status, headers, body } = await call('/api/products?page=2&category=paper');
    assert.equal(status, 200);
    const { items, total, page } = body as { items: { category: string }[]; total: number; page: number };
    assert.deepEqual([items.length, total, page], [12, 50, 2]);
    assert.match(headers.get('link') ?? '', /page=3&category=paper>; rel="next".*page=1&category=paper>; rel="prev"/);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal(headers.get('x-ratelimit-limit'), '1000');
    const etag = headers.get('etag') ?? '';
    assert.equal((await call('/api/products?page=2&category=paper', { headers: { 'if-none-match': etag } })).status, 304);
  });

  it('the API of the shop walks all reviews by cursor', async () => {
    let cursor: string | null = null;
    let seen = 0;
    do {
      const { body } = await call(`/api/reviews?limit=50${cursor === null ? '' : `&cursor=${cursor}`}`);
      const { items, next_cursor } = body as { items: unknown[]; next_cursor: string | null };
      seen += items.length;
      cursor = next_cursor;
    } while (cursor !== null);
    assert.equal(seen, 1200);
    assert.equal((await call('/api/reviews?cursor=bm8')).status, 422);
  });

  it('the API of the shop refuses with 400, 401, 403, 404, 405, 409, 422 and 429, each with its reason', async () => {
    const soldOut = products.find(({ stock }) => stock === 0);
    const codes = await Promise.all([
      call('/api/cart', { method: 'POST', body: '{' }),
      call('/api/orders', post({})),
      call('/api/admin'),
      call('/api/products/301'),
      call('/api/cart', { method: 'PUT' }),
      call('/api/cart', post({ product_id: soldOut?.id })),
      call('/api/cart', post({ product_id: 1, quantity: 0 })),
    ]);
    assert.deepEqual(
      codes.map(({ status }) => status),
      [400, 401, 403, 404, 405, 409, 422],
    );
    const calls = [1, 2, 3, 4].map(() => call('/api/availability'));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [200, 200, 200, 429],
    );
  });

  it('the API of the shop accepts an order with a login and the csrf header', async () => {
    const first = await call('/login');
    const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? '';
    const csrf = /name="csrf" value="([^"]+)"/.exec(first.body)?.[1] ?? '';
    const form = new URLSearchParams({ email: ada.email, password: ada.password, csrf });
    const entered = await call('/login', { method: 'POST', headers: { cookie }, body: form });
    assert.deepEqual([entered.status, entered.headers.get('location')], [303, '/account']);
    const mine = { cookie: entered.headers.get('set-cookie')?.split(';')[0] ?? '' };
    assert.notEqual(mine.cookie, cookie);
    const { csrf: token } = (await call('/api/session', { headers: mine })).body as { csrf: string };
    await call('/api/cart', post({ product_id: 2, quantity: 3 }, mine));
    assert.equal((await call('/api/orders', post({ address: {} }, mine))).status, 403);
    const placed = await call('/api/orders', post({ address: { city: 'Porto' } }, { ...mine, 'x-csrf-token': token }));
    assert.equal(placed.status, 201);
    assert.deepEqual(shop.orders[0]?.items, [{ product_id: 2, quantity: 3 }]);
    assert.equal((await call('/login', { method: 'POST', body: form })).status, 403);
  });

  it('the API of the shop answers two GraphQL operations and refuses an unknown one', async () => {
    const { body } = await call('/graphql', post({ operationName: 'ProductById', variables: { id: 7 } }));
    assert.equal((body as { data: { product: { id: number } } }).data.product.id, 7);
    assert.equal((await call('/graphql', post({ operationName: 'Nothing' }))).status, 400);
  });

  it('the API of the shop streams stock as events and prices over a WebSocket', async () => {
    const { body, headers } = await call('/api/stock?product=7&count=2');
    assert.equal(headers.get('content-type'), 'text/event-stream');
    assert.deepEqual(
      [...(body as string).matchAll(/^id: (\d)$/gm)].map(([, id]) => id),
      ['1', '2'],
    );
    const socket = new WebSocket(`${shop.url.replace('http', 'ws')}/ws`);
    const messages: string[] = [];
    const done = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        messages.push(data.toString());
        if (data.toString().includes('"n":3')) resolve();
      });
    });
    await once(socket, 'open');
    socket.send('hello');
    socket.send(JSON.stringify({ subscribe: 1 }));
    await done;
    socket.close();
    assert.match(messages[0] ?? '', /Quayside/);
    assert.equal(messages[1], 'hello');
  });

  it('the shop serves robots.txt, sitemap and feeds with the requested origin', async () => {
    const [robots, sitemap, security] = await Promise.all(
      ['/robots.txt', '/sitemap.xml', '/.well-known/security.txt'].map(async (path) => (await call(path)).body as string),
    );
    assert.match(robots ?? '', new RegExp(`Disallow: /account\nDisallow: /admin\nCrawl-delay: 1[^]*Sitemap: ${shop.url}/sitemap.xml`));
    assert.equal(sitemap?.match(/<url>/g)?.length, 315);
    assert.match(security ?? '', /^Contact: /);
    assert.equal((await call('/nowhere')).status, 404);
  });

  it('the shop serves the same pages in every run', async () => {
    const paths = ['/login', '/products/amber-desk-lamp', '/api/products?page=9', '/img/p9.png'];
    const run = async (): Promise<string[]> => {
      const shop = await startShop();
      try {
        const pages: string[] = [];
        for (const path of paths) pages.push((await (await fetch(shop.url + path)).text()).replaceAll(shop.url, ''));
        assert.deepEqual(shop.hits, paths);
        return pages;
      } finally {
        await shop.close();
      }
    };
    assert.deepEqual(await run(), await run());
  });

  it('the shop changes its deal and its design on request', async () => {
    shop.setDeal(42);
    assert.match((await call('/deal')).body, new RegExp(products[41]?.name ?? ''));
    const before = (await call('/products/amber-desk-lamp')).body as string;
    shop.redesign();
    const after = (await call('/products/amber-desk-lamp')).body as string;
    assert.ok(before.includes('<button id="add-to-cart"') && !after.includes('<button id="add-to-cart"'));
  });

  it('the shop computes the codes of RFC 6238', () => {
    // The last six digits of the RFC's SHA-1 examples with the secret "12345678901234567890".
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    assert.deepEqual(
      [59, 1_111_111_109, 20_000_000_000].map((seconds) => totp(secret, seconds * 1000)),
      ['287082', '081804', '353130'],
    );
  });
});
