import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProxyRequest, ServiceError, ValidationError } from '@berth/contract';
import type { RegionEntry } from './regions.ts';
import { builtinAdHosts, loadAdHosts, toEgressPolicy, type EgressPolicy } from '../egress.ts';
import { describeEgress, type PolicyOptions } from './upstreams.ts';

const proxy = (server: string, country: string) => ({ server, username: 'op', password: 'p w', ip: '198.51.100.1', country });
const region: RegionEntry = {
  code: 'eu',
  name: 'Europe',
  country: 'BE',
  isOwn: true,
  proxies: {
    managed: [proxy('http://m1:1', 'DE'), proxy('http://m2:1', 'FR')],
    rotating: [proxy('socks5://r1:1', 'DE'), proxy('https://r2:1', 'FR')],
  },
};
const policyOf = (request: object | null, options: Partial<PolicyOptions> = {}): EgressPolicy =>
  toEgressPolicy(
    { proxy: request && ProxyRequest.parse(request), allowed_domains: null, block_ads: false },
    { region, premiumEgress: true, ...options },
  );
const urls = (request: object | null, pick = 0): string[] => policyOf(request, { pick: () => pick }).upstreams.map(({ url }) => url);

test('upstreams are created for each type of proxy', () => {
  assert.deepEqual(urls(null), []);
  assert.deepEqual(urls({ type: 'none' }), []);
  assert.deepEqual(urls({ type: 'managed' }, 1), ['http://op:p%20w@m2:1/']);
  assert.deepEqual(urls({ type: 'managed', country: 'DE' }), ['http://op:p%20w@m1:1/']);
  assert.deepEqual(urls({ type: 'rotating' }), ['socks5://op:p%20w@r1:1', 'https://op:p%20w@r2:1/']);
  assert.deepEqual(urls({ type: 'external', server: 'http://x:1', username: 'a@b', password: ':' }), ['http://a%40b:%3A@x:1/']);
  assert.deepEqual(urls({ type: 'rotating', servers: ['http://own:pw@x:1', 'http://y:1'], username: 'u' }), [
    'http://own:pw@x:1/',
    'http://u@y:1/',
  ]);
});

test('the operator’s proxies are trusted and a caller’s are not', () => {
  const trusted = (request: object): boolean[] => policyOf(request).upstreams.map((each) => each.isTrusted);
  assert.deepEqual(
    [
      trusted({ type: 'managed' }),
      trusted({ type: 'external', server: 'http://x:1' }),
      trusted({ type: 'rotating', servers: ['http://y:1'] }),
    ],
    [[true], [false], [false]],
  );
});

test("a region without the requested proxy is refused with the field's name", () => {
  assert.throws(
    () => urls({ type: 'managed', country: 'US' }),
    (error) => error instanceof ValidationError && error.detail[0]?.loc.join('.') === 'body.proxy.country',
  );
  const bare = { ...region, proxies: { managed: [], rotating: [] } };
  assert.throws(() => policyOf({ type: 'rotating' }, { region: bare }), /no rotating proxies/);
});

test('egress in a region is direct only where the worker is in it, else by a managed proxy', () => {
  const far = { ...region, isOwn: false };
  const { type, country, upstreams } = policyOf(null);
  assert.deepEqual([type, country, upstreams], ['direct', 'BE', []]);
  const regional = policyOf(null, { region: far, pick: () => 1 });
  assert.deepEqual([regional.type, regional.upstreams.map(({ country: used }) => used)], ['managed', ['FR']]);
  assert.equal(policyOf({ type: 'external', server: 'http://x:1' }, { region: far }).type, 'external');
  const codeOf = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error instanceof ServiceError ? error.code : error instanceof ValidationError ? error.detail[0]?.loc.join('.') : error;
    }
  };
  const premiumEgress = false;
  const empty = { managed: [], rotating: [] };
  for (const [request, options, expected] of [
    [{ type: 'none' }, { region: far }, 'body.proxy.type'],
    [{ type: 'external', server: 'http://x:1', bypass: ['a.example'] }, { region: far }, 'body.proxy.bypass'],
    [null, { region: far, premiumEgress }, 'premium_egress_required'],
    [{ type: 'managed' }, { premiumEgress }, 'premium_egress_required'],
    [null, { region: { ...far, proxies: { ...region.proxies, managed: [] } } }, 'body.region'],
    [null, { region: { ...far, proxies: empty } }, 'region_unavailable'],
    [null, { region: { ...far, proxies: empty }, premiumEgress }, 'region_unavailable'],
  ] as [object | null, Partial<PolicyOptions>, string][])
    assert.equal(
      codeOf(() => policyOf(request, options)),
      expected,
    );
});

test('the egress is reported as far as it is known', () => {
  const [one, other] = region.proxies.managed.map(({ ip, country }) => ({ ip, country }));
  assert.ok(one && other);
  const policy = { type: 'rotating', country: 'BE', rotate: 'on_request', upstreams: [one, other] } as const;
  assert.deepEqual(describeEgress(policy, 1), { type: 'rotating', ip: '198.51.100.1', country: 'FR' });
  assert.deepEqual(describeEgress({ ...policy, rotate: 'every_connection' }, 1), { type: 'rotating', ip: '198.51.100.1', country: null });
  assert.deepEqual(describeEgress({ ...policy, type: 'external', upstreams: [{ ip: null, country: null }] }, 0), {
    type: 'external',
    ip: null,
    country: null,
  });
  assert.deepEqual(describeEgress({ ...policy, type: 'direct', upstreams: [] }, 0), { type: 'direct', ip: null, country: 'BE' });
  assert.deepEqual(describeEgress(null, 0), { type: null, ip: null, country: null });
});

test('advertising hosts are read from a hosts file beside the built-in ones', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ads-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hosts');
  writeFileSync(file, '# list\n0.0.0.0 ads.example tracker.example # two\n127.0.0.1 localhost\n\nplain.example\n::1 ip6-localhost\n');
  assert.deepEqual([...loadAdHosts(file)], ['ads.example', 'tracker.example', 'plain.example']);
  writeFileSync(file, '# nothing\n');
  assert.throws(() => loadAdHosts(file), new RegExp(`${file} contains no hosts`));
  assert.ok(builtinAdHosts.has('doubleclick.net'));
});
