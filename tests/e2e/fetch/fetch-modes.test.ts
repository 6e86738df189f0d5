import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  endSession,
  fetchPage,
  getPool,
  listAllSessions,
  listSessions,
  type FetchResponse,
} from '@berth/contract';
import { Server as Proxy } from 'proxy-chain';
import type { Client } from '../../harness.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { nightly } from '../../nightly.ts';
import { failing, fetchPages } from './fetch-pages.ts';
import { Service, eventually } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

/** Idle time after which a fetch machine ends. */
const idleMs = 60_000;

/** The first request for it has no answer. */
function unansweredOnce(): (_: unknown, response: ServerResponse) => void {
  let requests = 0;
  return (_, response) => {
    requests += 1;
    if (requests > 1) response.writeHead(200, { 'content-type': 'text/html' }).end(page('Answered', '<p>At the second time</p>'));
  };
}

const pages = { ...fetchPages, '/unanswered-once': unansweredOnce(), '/closed': failing({ 'retry-after': '60' }) };

describe('fetch modes', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  let idleKey = '';
  let idleSession: string | null = null;
  const seen: string[] = [];
  const proxy = new Proxy({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ username, password, hostname, port }) => {
      const allowed = username === 'user' && password === 'proxy-secret';
      if (allowed) seen.push(`${hostname}:${port}`);
      return { requestAuthentication: !allowed };
    },
  });
  before(async () => {
    [shop, site] = await Promise.all([startShop(), startSite({ pages })]);
    await proxy.listen();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${shop.host},${site.host},127.0.0.1:${proxy.port}` } });
    client = service.client;
    // Its machine is idle while the other tests run.
    idleKey = await ownerKey('idle');
    idleSession = (await get('/second', {}, idleKey)).session_id;
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close(), proxy.close(true)]);
  });

  const fetchPath = async (path: string, body: Record<string, unknown> = {}, key?: string): Promise<FetchResponse> => {
    const url = path.startsWith('http') ? path : site.url + path;
    const reply = await client.call(fetchPage, { body: { url, ...body }, ...(key ? { key } : {}) });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };
  const get = async (path: string, body: Record<string, unknown> = {}, key?: string): Promise<FetchResponse> => {
    const answer = await fetchPath(path, body, key);
    assert.equal(answer.status, 'ok', JSON.stringify([answer.error, answer.block, answer.warnings]));
    return answer;
  };
  const ownerKey = async (owner: string): Promise<string> => (await client.call(createKey, { body: { owner } })).body.key ?? '';

  describe('with the caller’s options', () => {
    it('fetch modes send headers and cookies, and do not return response cookies', async () => {
      for (const mode of ['browser', 'http']) {
        const cookies = [
          { name: 'one', value: 'first' },
          { name: 'two', value: 'second', path: '/elsewhere' },
          { name: 'three', value: 'third', domain: '127.0.0.1' },
        ];
        const answer = await get('/echo', { mode, headers: { 'X-Own': 'mine', 'Accept-Language': 'pt' }, cookies });
        const { headers } = answer.json as { headers: Record<string, string> };
        assert.deepEqual([headers['x-own'], headers['accept-language']?.slice(0, 2)], ['mine', 'pt'], mode);
        assert.match(headers['cookie'] ?? '', /one=first/);
        assert.match(headers['cookie'] ?? '', /three=third/);
        assert.doesNotMatch(headers['cookie'] ?? '', /second/);
        assert.ok(!('set-cookie' in answer.headers) && !JSON.stringify(answer.headers).includes('secret=abc'));
      }
    });

    it('fetch modes support a method and a body in http mode only', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await get('/echo-body', {
          mode: 'http',
          method,
          body: 'a=1&b=2',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });
        assert.deepEqual([answer.status_code, answer.json], [201, { method, type: 'application/x-www-form-urlencoded', body: 'a=1&b=2' }]);
      }
      const head = await get('/', { mode: 'http', method: 'HEAD' });
      assert.deepEqual([head.status_code, head.html ?? '', head.content_type], [200, '', 'text/html; charset=utf-8']);
      for (const body of [
        { method: 'POST' },
        { body: 'x' },
        { mode: 'auto', method: 'PUT' },
        { mode: 'http', body: 'x' },
        { mode: 'http', formats: ['pdf'] },
        { mode: 'http', session_id: 'ses_x' },
      ])
        assert.ok((await client.issues(fetchPage, { body: { url: site.url, ...body } })).length > 0, JSON.stringify(body));
    });

    it('fetch modes do not request blocked resources', async () => {
      const count = (path: string): number => site.hits.filter((hit) => hit.startsWith(path)).length;
      const before = ['/style.css', '/band?n=1'].map(count);
      const answer = await get('/parts', { block_resources: ['stylesheet', 'image'], formats: ['html'] });
      assert.equal(answer.title, 'Scripted');
      assert.deepEqual(['/style.css', '/band?n=1'].map(count), before);
      await get('/parts');
      assert.notDeepEqual(['/style.css', '/band?n=1'].map(count), before, 'a later fetch is still without them');
    });

    it('fetch modes block advertising when requested', async () => {
      // The gate reports the reason: the host is refused before the lookup, or the lookup fails.
      const errorOfAd = async (block_ads: boolean): Promise<string | undefined> => {
        const { har, text } = await get('/ads', { block_ads, formats: ['har', 'text'] });
        assert.ok(text?.includes('Content'));
        const entries = har?.log['entries'] as { request: { url: string }; response: { _error?: string } }[];
        return entries.find(({ request }) => request.url.includes('doubleclick'))?.response._error;
      };
      assert.deepEqual([await errorOfAd(true), await errorOfAd(false)], ['net::ERR_BLOCKED_BY_CLIENT', 'net::ERR_NAME_NOT_RESOLVED']);
    });

    it('fetch modes respect robots.txt when requested', async () => {
      for (const mode of ['browser', 'http', 'auto']) {
        const hits = site.hits.length;
        const refused = await fetchPath('/hidden', { mode, respect_robots: true });
        assert.deepEqual(
          [refused.status, refused.block?.type, refused.status_code, refused.attempts],
          ['blocked', 'robots_disallowed', null, []],
        );
        assert.ok(!site.hits.slice(hits).some((hit) => hit.startsWith('/hidden')));
        assert.equal((await get('/second', { mode, respect_robots: true })).title, 'Second');
        assert.equal((await get('/hidden', { mode })).title, 'Hidden');
      }
      const shopRefused = await fetchPath(`${shop.url}/account`, { respect_robots: true });
      assert.equal(shopRefused.block?.type, 'robots_disallowed');
    });

    it('a fetch in a session respects robots.txt when requested', async () => {
      const { session_id } = (await client.call(createSession, { body: {} })).body;
      const hits = site.hits.length;
      const refused = await fetchPath('/hidden', { session_id, respect_robots: true });
      assert.deepEqual([refused.status, refused.block?.type], ['blocked', 'robots_disallowed']);
      assert.ok(!site.hits.slice(hits).some((hit) => hit.startsWith('/hidden')));
      assert.equal((await get('/second', { session_id, respect_robots: true })).title, 'Second');
      await client.call(endSession, { params: { session_id } });
    });
  });

  describe('with redirects', () => {
    it('fetch modes return every hop of a redirect with its status, and the final fragment', async () => {
      for (const mode of ['browser', 'http', 'auto']) {
        const answer = await get('/hops?n=4', { mode });
        assert.deepEqual(
          answer.redirects.map(({ url, status_code }) => [new URL(url).search, status_code]),
          [
            ['?n=4', 308],
            ['?n=3', 307],
            ['?n=2', 303],
            ['?n=1', 302],
          ],
          mode,
        );
        assert.deepEqual([answer.status_code, answer.final_url, answer.url], [200, `${site.url}/hops?n=0#part`, `${site.url}/hops?n=4`]);
        const product = await get(`${shop.url}/old-product`, { mode });
        assert.deepEqual(
          [product.redirects.map(({ status_code }) => status_code), product.final_url],
          [[301, 302], `${shop.url}/products/amber-desk-lamp`],
        );
      }
    });

    it('fetch modes follow client-side redirects', async () => {
      for (const path of ['/moved-meta', '/moved-script']) {
        const answer = await get(shop.url + path, { wait_for: { selector: '.headlines' } });
        assert.deepEqual(
          [new URL(answer.final_url ?? '').pathname, answer.title, answer.status_code],
          ['/journal', 'Journal – Quayside Goods', 200],
        );
      }
      assert.equal((await get(`${shop.url}/moved-meta`, { mode: 'http' })).title, 'Journal – Quayside Goods');
    });

    it('fetch modes report an unknown host and a forbidden host of a redirect', async () => {
      for (const mode of ['browser', 'http']) {
        const nowhere = await fetchPath('http://nowhere.invalid/', { mode, retry: { max_attempts: 1 } });
        assert.deepEqual(
          [nowhere.status, nowhere.error?.code, nowhere.error?.details?.['reason']],
          ['error', 'navigation_failed', 'dns_failed'],
        );
        const inside = await fetchPath('http://127.0.0.1:1/', { mode });
        assert.deepEqual(
          [inside.error?.details?.['reason'], inside.error?.retryable, inside.attempts.length],
          ['blocked_by_policy', false, 1],
        );
        const meta = await fetchPath('http://169.254.169.254/latest/meta-data/', { mode });
        assert.equal(meta.error?.details?.['reason'], 'blocked_by_policy');
        const led = await fetchPath(`/to?url=${encodeURIComponent('http://169.254.169.254/')}`, { mode });
        assert.equal(led.error?.details?.['reason'], 'blocked_by_policy', JSON.stringify([mode, led.status, led.error]));
      }
    });
  });

  describe('with retries', () => {
    let key: string;
    before(async () => {
      key = await ownerKey('retrying');
    });

    it('fetch modes retry after a 503 and return both attempts', async () => {
      for (const mode of ['browser', 'http']) {
        const answer = await get(`/flaky?times=1&${mode}`, { mode, formats: ['text'] }, key);
        assert.deepEqual(
          answer.attempts.map(({ n, status_code, strategy }) => [n, status_code, strategy]),
          [
            [1, 503, 'direct'],
            [2, 200, 'wait_retry'],
          ],
        );
        assert.deepEqual(
          [answer.status_code, answer.title, answer.resolved_by],
          [200, 'At last', { mode, strategy: 'wait_retry', reason: null }],
        );
      }
    });

    it('fetch modes return a persistent 503, and do not retry unless requested', async () => {
      const stays = await get('/flaky?times=9&a', { mode: 'http', retry: { max_attempts: 3 } }, key);
      assert.deepEqual([stays.status_code, stays.attempts.length, stays.title], [503, 3, 'Not now']);
      const once = await get('/flaky?times=1&b', { mode: 'http', retry: { on: ['timeout'] } }, key);
      assert.deepEqual([once.status_code, once.attempts.length], [503, 1]);
    });

    it('fetch modes wait for Retry-After', async () => {
      for (const status of [429, 503]) {
        const since = performance.now();
        const answer = await get(`/busy?times=1&status=${status}`, { mode: 'http' }, key);
        assert.deepEqual(
          answer.attempts.map(({ status_code }) => status_code),
          [status, 200],
        );
        if (status === 429) assert.ok(performance.now() - since >= 1000);
      }
    });

    it('fetch modes return the last response when the time is over', async () => {
      // Less than the site wants to be left alone for, and plenty for one request.
      const answer = await fetchPath('/closed?times=9&status=429', { mode: 'http', timeout_ms: 10_000 }, key);
      assert.deepEqual([answer.status, answer.block?.type, answer.status_code], ['blocked', 'rate_limited', 429]);
    });
  });

  describe('by a proxy', () => {
    const external = (password: string, port = proxy.port): Record<string, unknown> => ({
      proxy: { type: 'external', server: `http://127.0.0.1:${port}`, username: 'user', password },
      retry: { max_attempts: 1 },
    });

    it('fetch modes use only the proxy in every mode', async () => {
      for (const mode of ['browser', 'http']) {
        const before = seen.length;
        const answer = await get('/second', { mode, ...external('proxy-secret') });
        assert.ok(seen.slice(before).includes(site.host), mode);
        assert.equal(answer.attempts[0]?.egress.type, 'external');
        assert.ok(!JSON.stringify(answer).includes('proxy-secret'));
        const direct = seen.length;
        await get('/second', { mode });
        assert.equal(seen.length, direct, 'a fetch without a proxy went by that of another');
      }
    });

    it('fetch modes fail when the proxy refuses or is down, without a direct connection', async () => {
      for (const mode of ['browser', 'http'])
        for (const proxyOptions of [external('wrong'), external('proxy-secret', 1)]) {
          const connections = site.connections();
          const answer = await fetchPath('/second', { mode, ...proxyOptions });
          assert.deepEqual([answer.status, answer.html], ['error', null], mode);
          assert.ok(['proxy_error', 'blocked_by_policy'].includes(String(answer.error?.details?.['reason'])), JSON.stringify(answer.error));
          assert.equal(site.connections(), connections);
        }
      assert.ok(!service.errors.includes('proxy-secret'), 'a password is in the log');
    });
  });

  describe('in shared machines', () => {
    it('a fetch in a shared machine leaves nothing for the next fetch', async () => {
      for (const mode of ['browser', 'http'])
        for (let n = 0; n < 4; n += 1) {
          const { json } = await get('/cookies', {
            mode,
            extract: { fields: { sent: { selector: '#sent' }, stored: { selector: '#kept' } } },
          });
          assert.deepEqual(json, { sent: 'none', stored: mode === 'http' ? '' : 'nothing' }, `${mode} ${n}`);
        }
    });

    // `tests/api/work/fetch-machines.test.ts` proves these three without browsers.
    it('fetches never share a machine between owners', nightly, async () => {
      const [one, other] = await Promise.all([ownerKey('one'), ownerKey('other')]);
      const of = async (key?: string): Promise<Set<string | null>> =>
        new Set((await Promise.all([1, 2, 3].map(() => get('/second', { timeout_ms: 60_000 }, key)))).map(({ session_id }) => session_id));
      const machines = await Promise.all([of(), of(one), of(other)]);
      assert.deepEqual(
        machines.map(({ size }) => size),
        [1, 1, 1],
      );
      assert.equal(new Set(machines.flatMap((set) => [...set])).size, 3);
      const mine = (await client.call(listSessions, { key: one, query: { purpose: 'fetch' } })).body;
      assert.deepEqual(
        mine.map(({ session_id, purpose, status }) => [session_id, purpose, status]),
        [[[...(machines[1] ?? [])][0], 'fetch', 'ready']],
      );
      const all = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.filter(({ purpose }) => purpose === 'fetch');
      assert.ok(new Set(all.map(({ owner }) => owner)).size >= 3);
    });

    it('a fetch is retried in another machine when its machine is killed', nightly, async () => {
      const key = await ownerKey('killed');
      const answer = get('/unanswered-once', { timeout_ms: 60_000 }, key);
      await eventually('the page is requested', () => site.hits.includes('/unanswered-once'));
      const machine = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.find(({ owner }) => owner === 'killed');
      assert.ok(machine?.pid);
      process.kill(machine.pid, 'SIGKILL');
      const { title, attempts, session_id } = await answer;
      assert.deepEqual([title, attempts.map(({ status, error_code }) => error_code ?? status)], ['Answered', ['session_lost', 'ok']]);
      assert.notEqual(session_id, machine.session_id);
    });

    it('machines of fetches have windows for the kind `full_browser`, and for a retry after a block', async () => {
      const [plain, headed] = [await get('/second'), await get('/second', { kind: 'full_browser', timeout_ms: 60_000 })];
      const { vms } = (await client.call(getPool)).body;
      const machineKinds = [plain, headed].map(({ session_id: id }) => vms.find((vm) => vm.session_id === id)?.kind);
      assert.deepEqual([machineKinds, headed.title], [['shell', 'full_browser'], 'Second']);
      assert.deepEqual(
        [plain, headed].map(({ attempts }) => attempts.map(({ kind }) => kind)),
        [['headless'], ['full_browser']],
      );
      assert.notEqual(plain.session_id, headed.session_id);
      const retried = await get('/denied?times=1&status=403', { timeout_ms: 60_000 });
      assert.deepEqual(
        retried.attempts.map(({ strategy, kind, block_type: block }) => [strategy, kind, block]),
        [
          ['direct', 'headless', 'access_denied'],
          ['full_browser', 'full_browser', null],
        ],
      );
      assert.deepEqual([retried.title, retried.session_id, retried.resolved_by?.strategy], ['At last', headed.session_id, 'full_browser']);
    });

    it('fetch machines serve twelve concurrent fetches, each with its own page', nightly, async () => {
      const paths = Array.from({ length: 12 }, (_, n) => `${shop.url}/products?page=${n + 1}`);
      const answers = await Promise.all(paths.map((url) => get(url, { formats: ['text'], timeout_ms: 60_000 })));
      for (const [n, { text, final_url, status_code, warnings }] of answers.entries()) {
        assert.deepEqual([final_url, status_code, warnings], [paths[n], 200, []]);
        assert.ok(text?.includes(`page ${n + 1} of 25`), `${n}: ${text?.slice(0, 200)}`);
      }
      assert.equal(new Set(answers.map(({ session_id }) => session_id)).size, 1);
    });

    it('an unused fetch machine ends', { ...nightly, timeout: idleMs * 2.5 }, async () => {
      const ended = await eventually(
        'the machine is ended',
        async () => {
          const own = (await client.call(listSessions, { key: idleKey, query: { purpose: 'fetch', status: 'ended' } })).body;
          return own.find((session) => session.session_id === idleSession);
        },
        idleMs * 2,
      );
      assert.equal(ended.ended_reason, 'idle_timeout');
      const next = await get('/second', {}, idleKey);
      assert.notEqual(next.session_id, idleSession);
    });
  });
});
