import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { client } from '../../testing/client.ts';
import { direct, fetchPlain, browser, listen, site } from '../../testing/gate.ts';

test('a refusal says which rule refused a host, and how an operator allows it', async (t) => {
  const { failure } = client(t, {
    allowText: '',
    policy: {
      ...direct,
      allowedDomains: ['*.shop.example', 'localhost', '127.0.0.1', 'berth.shop.example', 'x.doubleclick.net'],
      blockAds: true,
    },
    resolver: async (host) => (host === 'intranet.shop.example' ? ['172.16.3.4'] : ['93.184.216.34']),
    ownAddresses: () => [{ host: 'berth.shop.example', port: 8443 }],
  });
  const allow = 'allow it with BERTH_EGRESS_ALLOW';
  for (const [url, rule, message] of [
    ['http://localhost:3000/', 'not_public', `localhost:3000 is not a public address; ${allow}`],
    ['http://2130706433/', 'not_public', `127.0.0.1:80 is not a public address; ${allow}`],
    ['https://intranet.shop.example/', 'not_public', `intranet.shop.example:443 is not a public address; ${allow}`],
    ['http://a.shop.example:5432/', 'port', `a.shop.example:5432 is on a port that browsers may not reach; ${allow}`],
    ['https://berth.shop.example:8443/', 'own_address', `berth.shop.example:8443 is this service itself; ${allow}`],
    ['http://elsewhere.example/', 'allowed_domains', 'elsewhere.example is not among the `allowed_domains`'],
    ['http://x.doubleclick.net/', 'block_ads', 'x.doubleclick.net serves advertising, which `block_ads` refuses'],
  ] as const) {
    const failed = await failure(url);
    assert.deepEqual([failed.reason, failed.details], ['blocked_by_policy', { rule }], url);
    assert.equal(failed.message, `The address could not be fetched: ${message}.`);
  }
});

test('a refusal does not say which internal address is the service’s own, nor what a name resolved to', async (t) => {
  const self = await site(t, (_request, response) => response.end('no'));
  const own = client(t, { ownAddresses: () => [{ host: '127.0.0.1', port: self.port }] });
  assert.deepEqual((await own.failure(`http://127.0.0.1:${self.port}/`)).details, { rule: 'not_public' });
  const { failure } = client(t, { allowText: '', resolver: async () => ['10.11.12.13'] });
  assert.doesNotMatch((await failure('http://db.example/')).message, /10\.11/);
});

test('a refusal names the host that cannot be resolved or reached', async (t) => {
  // Below the ports that systems give to clients and tests.
  const closedPort = 28_642;
  const { failure } = client(t, { resolver: () => Promise.reject(new Error('ENOTFOUND ns1.internal')) });
  const messageOf = async (url: string): Promise<string> => (await failure(url)).message.replace('The address could not be fetched: ', '');
  assert.equal(await messageOf('https://nowhere.example/a?b'), 'nowhere.example cannot be resolved.');
  assert.equal(await messageOf(`http://127.0.0.1:${closedPort}/`), `127.0.0.1:${closedPort} does not accept connections.`);
  assert.ok((await messageOf(`http://${'a'.repeat(60)}.${'b'.repeat(3000)}/`)).length < 300);
});

test('a refusal names a caller’s proxy and what it did, and nothing of the operator’s', async (t) => {
  const refusing = await listen(
    t,
    createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n'))),
  );
  const messageOf = async (url: string, isTrusted: boolean): Promise<string> => {
    const upstream = { url, ip: null, country: null, isTrusted };
    const type = isTrusted ? 'managed' : 'external';
    const { failure } = client(t, { allowText: '127.0.0.0/8', policy: { ...direct, type, upstreams: [upstream] } });
    const failed = await failure('https://127.0.0.1:9443/');
    assert.equal(failed.reason, 'proxy_error');
    return failed.message.replace('The address could not be fetched: ', '');
  };
  const address = `127.0.0.1:${refusing.port}`;
  assert.equal(await messageOf(`http://me:hush@${address}`, false), `the proxy ${address} answered 407 to CONNECT.`);
  assert.equal(await messageOf('http://127.0.0.1:9', false), 'the proxy 127.0.0.1:9 refused or failed.');
  assert.match(await messageOf('http://10.0.0.1:3128', false), /^the proxy 10\.0\.0\.1:3128 is not a public address; allow it/);
  for (const url of [`http://me:hush@${address}`, 'http://127.0.0.1:9'])
    assert.equal(await messageOf(url, true), 'the proxy refused or failed.');
});

test('a refusal is remembered with its reason, rule, message and network error', async (t) => {
  const from = await browser(t, { allowText: '' });
  await fetchPlain(from, 'http://localhost:3000/');
  assert.deepEqual(from.route.lastRefusal('localhost', 3000), {
    reason: 'blocked_by_policy',
    rule: 'not_public',
    message: 'localhost:3000 is not a public address; allow it with BERTH_EGRESS_ALLOW',
    netError: 'net::ERR_BLOCKED_BY_CLIENT',
  });
});

test('a refusal distinguishes a connection that the site ends from one that it resets', async (t) => {
  const from = await browser(t, { allowText: '127.0.0.0/8' });
  for (const [leave, netError] of [
    [(socket: Socket) => socket.end(), 'net::ERR_EMPTY_RESPONSE'],
    [(socket: Socket) => socket.resetAndDestroy(), 'net::ERR_CONNECTION_RESET'],
  ] as const) {
    const leaving = createServer((socket) => socket.on('error', () => undefined).once('data', () => leave(socket)));
    const { port } = await listen(t, leaving);
    await fetchPlain(from, `http://127.0.0.1:${port}/`);
    const { reason, netError: reported } = from.route.lastRefusal('127.0.0.1', port) ?? {};
    assert.deepEqual([reason, reported], ['connection_reset', netError]);
  }
});
