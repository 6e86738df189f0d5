/** What a fetch does about a site that fails or refuses: further attempts, cooldowns, its rules, and the time that all of it may take. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fetchPage, type FetchResponse } from '@berth/contract';
import { Server as Proxy } from 'proxy-chain';
import { serve, type Served } from '../corpus/corpus.ts';
import { bytes, hangUp, html, redirect, silence, startSite, type Site } from '../fetch-site.ts';
import { startApp, type TestApp } from '../harness.ts';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';

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
/** Sites are known to each owner on their own: what one test does to the site is nothing to the next. */
async function someOwner(): Promise<{ fetch: (body: Record<string, unknown>) => Promise<FetchResponse> }> {
  const key = await served.ownerKey(`owner-${++owners}`);
  return { fetch: (body) => fetched(body, key) };
}

const told = ({ attempts }: FetchResponse) => attempts.map(({ strategy, status, status_code: code }) => [strategy, status, code]);
const once = { retry: { max_attempts: 1 } };
const challenge = () => blocking.urlOf('cloudflare: managed challenge told by header');

describe('a site that fails', () => {
  it('is asked again, and the answer tells both attempts', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.inTurn('/shaky', html('Oops', { status: 503 }), html('<title>Well</title>')) });
    assert.deepEqual([reply.status, reply.status_code, reply.title, reply.resolved_by], ['ok', 200, 'Well', 'http:wait_retry']);
    assert.deepEqual(told(reply), [
      ['direct', 'ok', 503],
      ['wait_retry', 'ok', 200],
    ]);
    assert.equal(reply.usage.actions, 2);
  });

  it('is told as it is when it goes on failing', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.inTurn('/broken', html('Oops', { status: 500 })) });
    assert.deepEqual([reply.status, reply.status_code, reply.html, reply.error, reply.attempts.length], ['ok', 500, 'Oops', null, 2]);
  });

  it('is asked again once more when it hangs up', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.inTurn('/hangs-up', hangUp, html('Back')) });
    assert.deepEqual([reply.status, reply.html, reply.attempts[0]?.error_code], ['ok', 'Back', 'navigation_failed']);
  });

  it('is asked as often as was allowed, and not for what was not named', async () => {
    const { fetch } = await someOwner();
    const failing = site.inTurn('/failing', html('Oops', { status: 500 }));
    assert.equal((await fetch({ url: failing, ...once })).attempts.length, 1);
    assert.equal((await fetch({ url: failing, retry: { on: ['blocked', 'timeout', 'proxy_error'] } })).attempts.length, 1);
    assert.equal((await fetch({ url: failing, retry: { on: ['5xx'] } })).attempts.length, 2);
    const hanging = site.inTurn('/hanging', hangUp);
    assert.equal((await fetch({ url: hanging, retry: { on: ['5xx', 'blocked'] } })).attempts.length, 1);
  });

  it('is not sent twice what may have had an effect', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({
      url: site.inTurn('/order', html('Oops', { status: 503 }), html('Done twice')),
      method: 'POST',
      body: 'one lamp',
    });
    assert.deepEqual([reply.status_code, reply.html, reply.attempts.length], [503, 'Oops', 1]);
  });

  it('is not asked again for a page that is simply not there', async () => {
    const { fetch } = await someOwner();
    assert.deepEqual(told(await fetch({ url: `${site.url}/not-there` })), [['direct', 'ok', 404]]);
  });

  it('is told why when it cannot be reached', async () => {
    const { fetch } = await someOwner();
    const gone = await startSite();
    await gone.close();
    const reply = await fetch({ url: gone.url });
    assert.deepEqual(
      [reply.status, reply.error?.code, reply.error?.retryable, reply.final_url],
      ['error', 'navigation_failed', true, gone.url],
    );
    assert.deepEqual(reply.error?.details, { reason: 'connection_refused', net_error: 'net::ERR_CONNECTION_REFUSED' });
    assert.deepEqual([reply.status_code, reply.html, reply.resolved_by, reply.attempts.length], [null, null, null, 2]);
  });

  it('is left alone when it sends its visitors in circles', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.inTurn('/circle', redirect('/circle')) });
    assert.deepEqual(
      [reply.status, reply.error?.details?.['reason'], reply.error?.retryable, reply.attempts.length],
      ['error', 'too_many_redirects', false, 1],
    );
    assert.ok(reply.bytes.in > 0 && reply.bytes.out > 0, 'what it cost is told all the same');
  });
});

describe('an address that is not public', () => {
  it('is never asked, not even after a redirect, and that is not tried again', async () => {
    const { fetch } = await someOwner();
    const own = new URL(served.url);
    for (const url of [
      'http://10.0.0.1/',
      'http://169.254.169.254/latest/meta-data/',
      `http://[::1]:${own.port}/livez`,
      `http://localhost:${own.port}/livez`,
      `${served.url}/livez`,
    ])
      for (const address of [url, site.inTurn(`/to-${url.replace(/\W/g, '')}`, redirect(url))]) {
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

describe('a site that refuses', () => {
  it('is told as blocked, with who blocks and on what evidence, and is asked again', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: challenge() });
    const { block } = reply;
    assert.deepEqual([reply.status, reply.status_code, reply.error, reply.resolved_by], ['blocked', 403, null, null]);
    assert.deepEqual([block?.blocked, block?.type, block?.vendor, block?.confidence], [true, 'challenge', 'cloudflare', 'high']);
    assert.ok((block?.evidence.length ?? 0) > 0);
    assert.match(reply.html ?? '', /A check is under way/, 'what stood in the way is there to be read');
    assert.deepEqual(told(reply), [
      ['direct', 'blocked', 403],
      ['wait_retry', 'blocked', 403],
    ]);
    assert.equal(reply.attempts[0]?.block_type, 'challenge');
  });

  it('is asked once where blocks are no reason to try again', async () => {
    const { fetch } = await someOwner();
    assert.equal((await fetch({ url: challenge(), retry: { on: ['timeout', '5xx'] } })).attempts.length, 1);
  });

  it('is a page like any other where nobody is to look for blocks', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: challenge(), block_detection: 'off' });
    assert.deepEqual([reply.status, reply.status_code, reply.block], ['ok', 403, null]);
  });

  it('is given the time that it asks for', async () => {
    const { fetch } = await someOwner();
    const url = site.inTurn('/slowly', html('Slow down', { status: 429, headers: { 'retry-after': '1' } }), html('Now'));
    const reply = await fetch({ url });
    assert.deepEqual([reply.status, reply.html, reply.attempts.length], ['ok', 'Now', 2]);
    const [first, second] = site.asked.filter(({ path }) => path === '/slowly').map(({ atMs }) => atMs);
    assert.ok((second ?? 0) - (first ?? 0) >= 990);
  });

  it('is not waited for beyond the fetch’s own time, and the answer tells how long it asked for', async () => {
    const { fetch } = await someOwner();
    const url = site.inTurn('/much-later', html('Slow down', { status: 429, headers: { 'retry-after': '3600' } }));
    const reply = await fetch({ url });
    assert.deepEqual(
      [reply.status, reply.block?.type, reply.block?.retry_after_seconds, reply.attempts.length],
      ['blocked', 'rate_limited', 3600, 1],
    );
  });
});

describe('a site that has refused three times in a row', () => {
  it('is left alone for a while, by its owner’s fetches alone', async () => {
    const [mine, theirs] = await Promise.all([someOwner(), someOwner()]);
    for (const _ of [1, 2, 3]) assert.equal((await mine.fetch({ url: challenge(), ...once })).block?.type, 'challenge');
    const path = site.inTurn('/of-the-same-site', html('Hello'));
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

  it('is asked all the same by force, and a good answer makes up for the refusals', async () => {
    const { fetch } = await someOwner();
    for (const _ of [1, 2, 3]) await fetch({ url: challenge(), ...once });
    const url = site.inTurn('/by-force', html('Hello'));
    assert.equal((await fetch({ url })).block?.type, 'cooldown');
    assert.deepEqual([(await fetch({ url, retry: { force: true } })).status, (await fetch({ url })).status], ['ok', 'ok']);
  });

  it('is asked again when its time is over, and left alone for longer when it still refuses', async () => {
    const { fetch } = await someOwner();
    for (const _ of [1, 2, 3]) await fetch({ url: challenge(), ...once });
    clock.advance(119_000);
    assert.equal((await fetch({ url: challenge(), ...once })).block?.retry_after_seconds, 1);
    clock.advance(1000);
    assert.equal((await fetch({ url: challenge(), ...once })).block?.type, 'challenge');
    assert.equal((await fetch({ url: challenge(), ...once })).block?.retry_after_seconds, 240);
  });
});

describe('a way out that fails', () => {
  const proxy = new Proxy({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ password }) => ({ requestAuthentication: password !== 'hunter2' }),
  });
  let good = '';
  let dead = '';
  before(async () => {
    const closed = await startSite();
    await Promise.all([proxy.listen(), closed.close()]);
    dead = closed.url;
    good = `http://user:hunter2@127.0.0.1:${proxy.port}`;
  });
  after(() => proxy.close(true));

  it('is told as such, and tried again where that was allowed', async () => {
    const { fetch } = await someOwner();
    const url = site.inTurn('/past-a-dead-proxy', html('Hello'));
    const order = { url, proxy: { type: 'external', server: dead } };
    for (const [on, attempts] of [
      [['proxy_error'], 2],
      [['timeout', 'blocked', '5xx'], 1],
    ] as const) {
      const reply = await fetch({ ...order, retry: { on } });
      assert.deepEqual([reply.status, reply.error?.details?.['reason'], reply.attempts.length], ['error', 'proxy_error', attempts]);
      assert.deepEqual(reply.attempts[0]?.egress, { type: 'external', country: null });
    }
    assert.equal(site.count('/past-a-dead-proxy'), 0, 'a fetch with a proxy never goes without');
  });

  it('is left for the next of a list, and no credential of it is told', async () => {
    const { fetch } = await someOwner();
    const reply = await fetch({ url: site.inTurn('/by-the-next', html('Hello')), proxy: { type: 'rotating', servers: [dead, good] } });
    assert.deepEqual([reply.status, reply.html, reply.resolved_by], ['ok', 'Hello', 'http:other_egress']);
    assert.ok(!JSON.stringify(reply).includes('hunter2'));
  });
});

describe('the rules of a site', () => {
  it('are kept where that was asked for, and a page that they forbid is not asked for', async () => {
    const { fetch } = await someOwner();
    site.on('/robots.txt', bytes('User-agent: *\nDisallow: /private', 'text/plain'));
    const url = site.inTurn('/private/page', html('Secret'));
    const reply = await fetch({ url, respect_robots: true });
    assert.deepEqual([reply.status, reply.block?.type, reply.attempts, reply.error], ['blocked', 'robots_disallowed', [], null]);
    assert.equal(site.count('/private/page'), 0);
    assert.equal((await fetch({ url: site.inTurn('/public/page', html('Open')), respect_robots: true })).status, 'ok');
    assert.equal((await fetch({ url })).status, 'ok', 'nobody asked for the rules');
    assert.equal(site.count('/robots.txt'), 1, 'they are remembered');
  });
});

describe('the time of a fetch', () => {
  it('ends a page that never comes, and the attempt is told', async () => {
    const { fetch } = await someOwner();
    const startMs = performance.now();
    const reply = await fetch({ url: site.inTurn('/never', silence), timeout_ms: 1000 });
    assert.ok(performance.now() - startMs < 3000);
    assert.deepEqual([reply.status, reply.error?.code, reply.error?.retryable], ['error', 'timeout', true]);
    assert.deepEqual(told(reply), [['direct', 'error', null]]);
  });

  it('leaves what came of a page that does not end', async () => {
    const { fetch } = await someOwner();
    const url = site.inTurn(
      '/endless',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<title>Half</title><p>So far'),
    );
    const reply = await fetch({ url, timeout_ms: 1000, ...once });
    assert.deepEqual([reply.status, reply.title], ['ok', 'Half']);
    assert.ok(reply.warnings.length > 0);
  });

  it('ends with its caller', async () => {
    const key = await served.ownerKey('hasty');
    const leaving = new AbortController();
    const url = site.inTurn('/left', silence);
    const call = served.call(fetchPage, { key, body: { url, mode: 'http' }, signal: leaving.signal });
    while (site.count('/left') === 0) await new Promise(setImmediate);
    leaving.abort();
    await assert.rejects(call);
    assert.equal(site.count('/left'), 1);
  });
});
