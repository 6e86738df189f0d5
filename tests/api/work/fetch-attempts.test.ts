/** Fetches of sites that fail or block: retries, cooldowns, robots.txt and timeouts. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fetchPage, type FetchResponse } from '@berth/contract';
import { Server as Proxy } from 'proxy-chain';
import { serve, type Served } from '../../corpus/corpus.ts';
import { bytes, hangUp, html, redirect, silence, startSite, type Site } from '../../fetch-site.ts';
import { assertSoon, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
let site: Site;
let blocking: Served;
before(async () => {
  [site, blocking] = await Promise.all([startSite(), serve()]);
  served = await startApp({ clock, environment: { BERTH_EGRESS_ALLOW: '127.0.0.1' } });
});
after(async () => {
  await served.close();
  await Promise.all([site.close(), blocking.close()]);
});

async function fetched(body: Record<string, unknown>, key: string): Promise<FetchResponse> {
  const reply = await served.call(fetchPage, { key, body: { mode: 'http', ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

let owners = 0;
/** Site health is kept per owner, so each test uses its own. */
async function someOwner(): Promise<{ fetch: (body: Record<string, unknown>) => Promise<FetchResponse> }> {
  const key = await served.ownerKey(`owner-${++owners}`);
  return { fetch: (body) => fetched(body, key) };
}

const reported = ({ attempts }: FetchResponse) => attempts.map(({ strategy, status, status_code: code }) => [strategy, status, code]);
const once = { retry: { max_attempts: 1 } };
const challenge = () => blocking.urlOf('cloudflare: managed challenge by header');

describe('a site that fails', () => {
  it('a fetch of a site that fails is retried, and the response lists both attempts', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.sequence('/shaky', html('Oops', { status: 503 }), html('<title>Well</title>')) });
    assert.deepEqual(
      [reply.status, reply.status_code, reply.title, reply.resolved_by],
      ['ok', 200, 'Well', { mode: 'http', strategy: 'wait_retry', reason: null }],
    );
    assert.deepEqual(reported(reply), [
      ['direct', 'ok', 503],
      ['wait_retry', 'ok', 200],
    ]);
    assert.equal(reply.usage.actions, 2);
  });

  it('a fetch of a site that keeps failing reports its status', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.sequence('/broken', html('Oops', { status: 500 })) });
    assert.deepEqual([reply.status, reply.status_code, reply.html, reply.error, reply.attempts.length], ['ok', 500, 'Oops', null, 2]);
  });

  it('a fetch is retried when the site closes the connection', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.sequence('/hangs-up', hangUp, html('Back')) });
    assert.deepEqual([reply.status, reply.html, reply.attempts[0]?.error_code], ['ok', 'Back', 'navigation_failed']);
  });

  it('a fetch is retried up to the maximum and only for the given statuses', async () => {
    const { fetch } = await someOwner();
    const failing = site.sequence('/failing', html('Oops', { status: 500 }));
    assert.equal((await fetch({ url: failing, ...once })).attempts.length, 1);
    assert.equal((await fetch({ url: failing, retry: { on: ['blocked', 'timeout', 'proxy_error'] } })).attempts.length, 1);
    assert.equal((await fetch({ url: failing, retry: { on: ['5xx'] } })).attempts.length, 2);
    const hanging = site.sequence('/hanging', hangUp);
    assert.equal((await fetch({ url: hanging, retry: { on: ['5xx', 'blocked'] } })).attempts.length, 1);
  });

  it('a fetch is not retried after a request that may have had an effect', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({
      url: site.sequence('/order', html('Oops', { status: 503 }), html('Done twice')),
      method: 'POST',
      body: 'one lamp',
    });
    assert.deepEqual([reply.status_code, reply.html, reply.attempts.length], [503, 'Oops', 1]);
  });

  it('a fetch is not retried for a missing page', async () => {
    const { fetch } = await someOwner();
    assert.deepEqual(reported(await fetch({ url: `${site.url}/not-there` })), [['direct', 'ok', 404]]);
  });

  it('a fetch of an unreachable site reports the reason', async () => {
    const { fetch } = await someOwner();
    const closedSite = await startSite();
    await closedSite.close();
    const reply = await fetch({ url: closedSite.url });
    assert.deepEqual(
      [reply.status, reply.error?.code, reply.error?.retryable, reply.final_url],
      ['error', 'navigation_failed', true, closedSite.url],
    );
    assert.deepEqual(reply.error?.details, { reason: 'connection_refused', net_error: 'net::ERR_CONNECTION_REFUSED' });
    assert.deepEqual([reply.status_code, reply.html, reply.resolved_by, reply.attempts.length], [null, null, null, 2]);
  });

  it('a fetch is not retried after a redirect loop', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.sequence('/circle', redirect('/circle')) });
    assert.deepEqual(
      [reply.status, reply.error?.details?.['reason'], reply.error?.retryable, reply.attempts.length],
      ['error', 'too_many_redirects', false, 1],
    );
    assert.ok(reply.bytes.in > 0 && reply.bytes.out > 0, 'the traffic is still reported');
  });
});

describe('an address that is not public', () => {
  it('an address that is not public is never requested, not even by a redirect, and not retried', async () => {
    const { fetch } = await someOwner();
    const own = new URL(served.url);
    for (const url of [
      'http://10.0.0.1/',
      'http://169.254.169.254/latest/meta-data/',
      `http://[::1]:${own.port}/livez`,
      `http://localhost:${own.port}/livez`,
      `${served.url}/livez`,
    ])
      for (const address of [url, site.sequence(`/to-${url.replace(/\W/g, '')}`, redirect(url))]) {
        const reply = await fetch({ url: address });
        assert.deepEqual(
          [reply.status, reply.error?.details?.['reason'], reply.error?.retryable, reply.attempts.length],
          ['error', 'blocked_by_policy', false, 1],
          address,
        );
        assert.ok(!JSON.stringify(reply).includes('"status":"ok"'));
      }
  });
});

describe('a site that blocks', () => {
  it('a site that blocks is reported as blocked with vendor and evidence, and retried', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: challenge() });
    const { block } = reply;
    assert.deepEqual([reply.status, reply.status_code, reply.error, reply.resolved_by], ['blocked', 403, null, null]);
    assert.deepEqual([block?.blocked, block?.type, block?.vendor, block?.confidence], [true, 'challenge', 'cloudflare', 'high']);
    assert.ok((block?.evidence.length ?? 0) > 0);
    assert.match(reply.html ?? '', /A check is under way/, 'what stood in the way is there to be read');
    assert.deepEqual(reported(reply), [
      ['direct', 'blocked', 403],
      ['wait_retry', 'blocked', 403],
    ]);
    assert.equal(reply.attempts[0]?.block_type, 'challenge');
  });

  it('a site that blocks is requested once when blocks are not retried', async () => {
    const { fetch } = await someOwner();
    assert.equal((await fetch({ url: challenge(), retry: { on: ['timeout', '5xx'] } })).attempts.length, 1);
  });

  it('a block page is an ordinary page when block detection is off', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: challenge(), block_detection: 'off' });
    assert.deepEqual([reply.status, reply.status_code, reply.block], ['ok', 403, null]);
  });

  it('a site that blocks is retried after its Retry-After', async () => {
    const { fetch } = await someOwner();
    const url = site.sequence('/slowly', html('Slow down', { status: 429, headers: { 'retry-after': '1' } }), html('Now'));
    const reply = await fetch({ url });
    assert.deepEqual([reply.status, reply.html, reply.attempts.length], ['ok', 'Now', 2]);
    const [first, second] = site.requests.filter(({ path }) => path === '/slowly').map(({ atMs }) => atMs);
    assert.ok((second ?? 0) - (first ?? 0) >= 990);
  });

  it('a site that blocks is not awaited beyond the fetch’s timeout, and the response contains its Retry-After', async () => {
    const { fetch } = await someOwner();
    const url = site.sequence('/much-later', html('Slow down', { status: 429, headers: { 'retry-after': '3600' } }));
    const reply = await fetch({ url });
    assert.deepEqual(
      [reply.status, reply.block?.type, reply.block?.retry_after_seconds, reply.attempts.length],
      ['blocked', 'rate_limited', 3600, 1],
    );
  });
});

describe('a site that has blocked three times in a row', () => {
  it('a site that has blocked three times in a row is in cooldown for this owner only', async () => {
    const [mine, theirs] = await Promise.all([someOwner(), someOwner()]);
    for (const _ of [1, 2, 3]) assert.equal((await mine.fetch({ url: challenge(), ...once })).block?.type, 'challenge');
    const path = site.sequence('/of-the-same-site', html('Hello'));
    const reply = await mine.fetch({ url: path });
    assert.deepEqual(
      [reply.status, reply.block?.blocked, reply.block?.type, reply.block?.vendor],
      ['blocked', true, 'cooldown', 'cloudflare'],
    );
    assert.deepEqual([reply.attempts, reply.status_code, reply.error, reply.usage.actions], [[], null, null, 0]);
    assert.equal(reply.block?.retry_after_seconds, 120);
    assert.equal(site.count('/of-the-same-site'), 0, 'the site is not asked');
    assert.equal((await theirs.fetch({ url: path })).status, 'ok');
  });

  it('a site in cooldown is requested when the cooldown is ignored, and a success resets it', async () => {
    const { fetch } = await someOwner();
    for (const _ of [1, 2, 3]) await fetch({ url: challenge(), ...once });
    const url = site.sequence('/by-force', html('Hello'));
    assert.equal((await fetch({ url })).block?.type, 'cooldown');
    assert.deepEqual([(await fetch({ url, retry: { ignore_cooldown: true } })).status, (await fetch({ url })).status], ['ok', 'ok']);
  });

  it('a site is requested after its cooldown, which grows when it blocks again', async () => {
    const { fetch } = await someOwner();
    for (const _ of [1, 2, 3]) await fetch({ url: challenge(), ...once });
    clock.advance(119_000);
    assert.equal((await fetch({ url: challenge(), ...once })).block?.retry_after_seconds, 1);
    clock.advance(1000);
    assert.equal((await fetch({ url: challenge(), ...once })).block?.type, 'challenge');
    assert.equal((await fetch({ url: challenge(), ...once })).block?.retry_after_seconds, 240);
  });
});

describe('an egress that fails', () => {
  const proxy = new Proxy({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ password }) => ({ requestAuthentication: password !== 'hunter2' }),
  });
  let good = '';
  let deadProxy = '';
  before(async () => {
    const closed = await startSite();
    await Promise.all([proxy.listen(), closed.close()]);
    deadProxy = closed.url;
    good = `http://user:hunter2@127.0.0.1:${proxy.port}`;
  });
  after(() => proxy.close(true));

  it('an egress that fails is reported as an egress failure and retried when allowed', async () => {
    const { fetch } = await someOwner();
    const url = site.sequence('/past-a-dead-proxy', html('Hello'));
    const fetchBody = { url, proxy: { type: 'external', server: deadProxy } };
    for (const [on, attempts] of [
      [['proxy_error'], 2],
      [['timeout', 'blocked', '5xx'], 1],
    ] as const) {
      const reply = await fetch({ ...fetchBody, retry: { on } });
      assert.deepEqual([reply.status, reply.error?.details?.['reason'], reply.attempts.length], ['error', 'proxy_error', attempts]);
      assert.deepEqual(reply.attempts[0]?.egress, { type: 'external', country: null });
    }
    assert.equal(site.count('/past-a-dead-proxy'), 0, 'a fetch with a proxy never goes without');
  });

  it('an egress that fails is replaced by the next proxy of the list without revealing credentials', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({
      url: site.sequence('/by-the-next', html('Hello')),
      proxy: { type: 'rotating', servers: [deadProxy, good] },
    });
    assert.deepEqual(
      [reply.status, reply.html, reply.resolved_by],
      ['ok', 'Hello', { mode: 'http', strategy: 'rotate_egress', reason: null }],
    );
    assert.ok(!JSON.stringify(reply).includes('hunter2'));
  });
});

describe('a site’s robots.txt', () => {
  it('robots.txt is respected when requested, and a forbidden page is not loaded', async () => {
    const { fetch } = await someOwner();
    site.on('/robots.txt', bytes('User-agent: *\nDisallow: /private', 'text/plain'));
    const url = site.sequence('/private/page', html('Secret'));
    const reply = await fetch({ url, respect_robots: true });
    assert.deepEqual([reply.status, reply.block?.type, reply.attempts, reply.error], ['blocked', 'robots_disallowed', [], null]);
    assert.equal(site.count('/private/page'), 0);
    assert.equal((await fetch({ url: site.sequence('/public/page', html('Open')), respect_robots: true })).status, 'ok');
    assert.equal((await fetch({ url })).status, 'ok', 'robots.txt was not requested');
    assert.equal(site.count('/robots.txt'), 1, 'they are remembered');
  });
});

describe('the timeout of a fetch', () => {
  it('the timeout of a fetch ends a page that never responds, and the attempt is reported', async () => {
    const { fetch } = await someOwner();
    const startMs = performance.now();
    const reply = await fetch({ url: site.sequence('/never', silence), timeout_ms: 1000 });
    assertSoon(startMs);
    assert.deepEqual([reply.status, reply.error?.code, reply.error?.retryable], ['error', 'timeout', true]);
    assert.deepEqual(reported(reply), [['direct', 'error', null]]);
  });

  it('the timeout of a fetch keeps the received part of a page that never ends', async () => {
    const { fetch } = await someOwner();
    const url = site.sequence(
      '/endless',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<title>Half</title><p>So far'),
    );
    // Long enough for a busy machine to receive the beginning.
    const reply = await fetch({ url, timeout_ms: 4000, ...once });
    assert.deepEqual([reply.status, reply.title], ['ok', 'Half']);
    assert.ok(reply.warnings.length > 0);
  });

  it('a fetch ends when the caller disconnects', async () => {
    const key = await served.ownerKey('hasty');
    const leaving = new AbortController();
    const url = site.sequence('/left', silence);
    const call = served.call(fetchPage, { key, body: { url, mode: 'http' }, signal: leaving.signal });
    while (site.count('/left') === 0) await new Promise(setImmediate);
    leaving.abort();
    await assert.rejects(call);
    assert.equal(site.count('/left'), 1);
  });
});

describe('a block that a browser with windows may pass', () => {
  it('a block that a browser with windows may pass is retried by full_browser only where this worker can start one', async (t) => {
    const { kinds } = served.runtime;
    const begin = t.mock.method(served.app.selfHeal, 'begin');
    const { fetch } = await someOwner();
    const mayRetry = async (): Promise<boolean | undefined> => {
      await fetch({ url: 'http://site.test/', mode: 'browser' });
      return begin.mock.calls.at(-1)?.arguments[2].enabled.includes('full_browser');
    };
    assert.equal(await mayRetry(), true);
    served.runtime.kinds = kinds.filter((kind) => kind !== 'full_browser');
    const without = await mayRetry().finally(() => (served.runtime.kinds = kinds));
    assert.equal(without, false);
  });
});
