/** Where the traffic of a region leaves, what is reported of it, and what is refused because it would leave from elsewhere. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Server as Proxy } from 'proxy-chain';
import { createSession, fetchPage, listRegions, type FetchResponse } from '@berth/contract';
import { html, startSite, type Site } from '../../fetch-site.ts';
import { startApp, type TestApp } from '../../harness.ts';
import { machinesLeft } from '../../contract/session-states.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-regions-'));
/** Real proxies of the operator, and what was asked of each. */
const asked = { managed: 0, rotating: 0 };
const createProxy = (name: keyof typeof asked): Proxy =>
  new Proxy({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ username }) => {
      asked[name] += 1;
      return { requestAuthentication: username !== 'operator' };
    },
  });
const proxies = { managed: createProxy('managed'), rotating: createProxy('rotating') };
let served: TestApp;
let site: Site;
let url = '';

before(async () => {
  await Promise.all([proxies.managed.listen(), proxies.rotating.listen()]);
  const entry = (name: keyof typeof asked, rest: object) => ({
    server: `http://127.0.0.1:${proxies[name].port}`,
    username: 'operator',
    password: 'hunter2',
    ...rest,
  });
  const managed = [entry('managed', { ip: '198.51.100.7', country: 'NO' })];
  const regions = [
    { code: 'home', name: 'Home', country: 'DE', proxies: { managed } },
    { code: 'far', name: 'Far', country: 'SE', proxies: { managed } },
    { code: 'turning', name: 'Turning', country: 'FI', proxies: { rotating: [entry('rotating', { country: 'FI' })] } },
    { code: 'bare', name: 'Bare', country: 'FR' },
  ];
  writeFileSync(join(folder, 'regions.json'), JSON.stringify({ regions }));
  site = await startSite();
  url = site.sequence('/page', html('<title>Here</title><p>Here.</p>'));
  const environment = { BERTH_REGION: 'home', BERTH_REGIONS_FILE: join(folder, 'regions.json'), BERTH_EGRESS_ALLOW: '127.0.0.1' };
  served = await startApp({ environment });
});
after(async () => {
  await served.close();
  await Promise.all([site.close(), proxies.managed.close(true), proxies.rotating.close(true)]);
  rmSync(folder, { recursive: true });
});

async function fetched(body: Record<string, unknown>): Promise<FetchResponse> {
  const reply = await served.call(fetchPage, { body: { url, ...body } });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.body.status, 'ok', reply.text);
  return reply.body;
}
const egressOf = ({ attempts }: FetchResponse) => attempts[0]?.egress;
const own = { type: 'external', server: 'http://127.0.0.1:9' };

describe('a fetch', () => {
  it('a fetch leaves directly from the region of the worker, also by its code', async () => {
    const before = { ...asked };
    for (const body of [{}, { region: 'home' }, { proxy: { type: 'none' } }])
      assert.deepEqual(egressOf(await fetched({ mode: 'http', ...body })), { type: 'direct', country: 'DE' });
    assert.deepEqual(asked, before);
  });

  it('a fetch leaves from another region by its managed proxies', async () => {
    const [hits, before] = [site.count('/page'), asked.managed];
    assert.deepEqual(egressOf(await fetched({ mode: 'http', region: 'far' })), { type: 'managed', country: 'NO' });
    assert.ok(asked.managed > before);
    assert.equal(site.count('/page'), hits + 1);
  });

  it('a fetch reports the egress that was used, with a browser, in a session, and through the caller’s proxy', async () => {
    const page = 'http://status-204.test/';
    assert.deepEqual(egressOf(await fetched({ url: page, region: 'far' })), { type: 'managed', country: 'NO' });
    const { session_id } = await served.create({ region: 'far' });
    assert.deepEqual(egressOf(await fetched({ url: page, session_id })), { type: 'managed', country: 'NO' });
    const { attempts } = (await served.call(fetchPage, { body: { url, mode: 'http', proxy: own, retry: { max_attempts: 1 } } })).body;
    assert.deepEqual([attempts[0]?.status, attempts[0]?.egress], ['error', { type: 'external', country: null }]);
  });
});

describe('a session', () => {
  it('a session reports the egress that it uses, without secrets', async () => {
    const rotation = { rotations: 0, rotated_at: null };
    for (const [body, egress] of [
      [{}, { type: 'direct', ip: null, country: 'DE' }],
      [{ region: 'far' }, { type: 'managed', ip: '198.51.100.7', country: 'NO' }],
      [
        { region: 'turning', proxy: { type: 'rotating', rotate: 'every_connection' } },
        { type: 'rotating', ip: null, country: 'FI' },
      ],
      [
        { region: 'bare', proxy: own },
        { type: 'external', ip: null, country: null },
      ],
    ] as const) {
      const session = await served.create(body);
      assert.deepEqual(session.egress, { ...egress, ...rotation });
      assert.doesNotMatch(JSON.stringify(session), /hunter2|operator/);
    }
    assert.equal((await served.create({ region: 'far' })).proxy, null);
  });
});

describe('what would leave from elsewhere', () => {
  const both = async (body: Record<string, unknown>): Promise<[string, string | undefined][]> => {
    const issues = [
      ...(await served.issues(createSession, { body })),
      ...(await served.issues(fetchPage, { body: { url, mode: 'http', ...body } })),
    ];
    return issues.map(({ loc, msg }) => [loc.join('.'), msg]);
  };

  it('an egress that its region does not have is refused with the field to change', async () => {
    for (const [body, loc, message] of [
      [{ region: 'far', proxy: { type: 'none' } }, 'body.proxy.type', /not in region far/],
      [{ region: 'far', proxy: { type: 'managed', bypass: ['example.com'] } }, 'body.proxy.bypass', /not in region far/],
      [{ region: 'bare', proxy: { ...own, bypass: ['example.com'] } }, 'body.proxy.bypass', /not in region bare/],
      [{ region: 'turning' }, 'body.region', /`rotating`/],
    ] as const)
      for (const [where, msg] of await both(body)) {
        assert.equal(where, loc);
        assert.match(msg ?? '', message);
      }
  });

  it('a proxy of another region needs a plan with premium egress', async () => {
    const key = await served.ownerKey('frugal', 'free');
    const { message } = await served.refuse(createSession, 'premium_egress_required', { key, body: { region: 'far' } });
    assert.match(message, /region far/);
    await served.refuse(fetchPage, 'premium_egress_required', { key, body: { url, mode: 'http', region: 'far' } });
    assert.equal((await served.create({ region: 'home' }, { key })).egress.type, 'direct');
  });

  it('a region with neither a proxy nor this worker is region_unavailable, and starts nothing', async () => {
    const before = await machinesLeft(served);
    for (const [endpoint, body] of [
      [createSession, { region: 'bare' }],
      [fetchPage, { url, region: 'bare' }],
      [fetchPage, { url, region: 'bare', mode: 'http', async: true }],
    ] as const) {
      const { reply, details, message } = await served.refuse(endpoint, 'region_unavailable', { body });
      assert.deepEqual(details, { region: 'bare' });
      assert.match(message, /region bare/);
      assert.match(reply.text, /"retryable":false/);
    }
    assert.deepEqual(await machinesLeft(served), before);
  });

  it('the list of regions says which egress each region has', async () => {
    const { regions } = (await served.call(listRegions)).body;
    assert.deepEqual(
      regions.map(({ code, egress: { direct, managed, rotating } }) => [code, direct, managed, rotating]),
      [
        ['home', true, true, false],
        ['far', false, true, false],
        ['turning', false, false, true],
        ['bare', false, false, false],
      ],
    );
  });
});
