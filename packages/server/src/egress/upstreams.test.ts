import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProxyRequest, ValidationError } from '@berth/contract';
import type { RegionEntry } from '../regions/regions.ts';
import { builtinAdHosts, loadAdHosts, toEgressPolicy } from './egress.ts';

const proxy = (server: string, country: string) => ({ server, username: 'op', password: 'p w', ip: '198.51.100.1', country });
const region: RegionEntry = {
  code: 'eu',
  name: 'Europe',
  country: null,
  proxies: {
    managed: [proxy('http://m1:1', 'DE'), proxy('http://m2:1', 'FR')],
    rotating: [proxy('socks5://r1:1', 'DE'), proxy('https://r2:1', 'FR')],
  },
};
const urls = (request: object | null, pick = 0): string[] => {
  const parsed = request && ProxyRequest.parse(request);
  return toEgressPolicy({ proxy: parsed, allowed_domains: null, block_ads: false }, region, () => pick).upstreams.map(({ url }) => url);
};

test('makes the upstreams of each type of proxy', () => {
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

test('trusts the operator’s proxies and not a caller’s', () => {
  const trusted = (request: object): boolean[] =>
    toEgressPolicy({ proxy: ProxyRequest.parse(request), allowed_domains: null, block_ads: false }, region).upstreams.map(
      (each) => each.isTrusted,
    );
  assert.deepEqual(
    [
      trusted({ type: 'managed' }),
      trusted({ type: 'external', server: 'http://x:1' }),
      trusted({ type: 'rotating', servers: ['http://y:1'] }),
    ],
    [[true], [false], [false]],
  );
});

test('points at the field when the region has no such proxy', () => {
  assert.throws(
    () => urls({ type: 'managed', country: 'US' }),
    (error) => error instanceof ValidationError && error.detail[0]?.loc.join('.') === 'body.proxy.country',
  );
  const bare = { ...region, proxies: { managed: [], rotating: [] } };
  assert.throws(
    () => toEgressPolicy({ proxy: ProxyRequest.parse({ type: 'rotating' }), allowed_domains: null, block_ads: false }, bare),
    /no rotating proxies/,
  );
});

test('reads advertising hosts from a hosts file beside the built-in ones', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ads-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hosts');
  writeFileSync(file, '# list\n0.0.0.0 ads.example tracker.example # two\n127.0.0.1 localhost\n\nplain.example\n::1 ip6-localhost\n');
  assert.deepEqual([...loadAdHosts(file)], ['ads.example', 'tracker.example', 'plain.example']);
  writeFileSync(file, '# nothing\n');
  assert.throws(() => loadAdHosts(file), new RegExp(`${file} contains no hosts`));
  assert.ok(builtinAdHosts.has('doubleclick.net'));
});
