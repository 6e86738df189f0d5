import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { Server as ProxyServer } from 'proxy-chain';
import type { EgressPolicy, Upstream } from '../egress.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, direct, exchange, fetchPlain, get, listen, openTunnel, site, type Browser } from '../../testing/gate.ts';

/** An HTTP proxy that records its requests. */
async function httpProxy(t: TestContext): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const proxy = new ProxyServer({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ request, username, password }) => {
      if (username !== 'me' || password !== 'p@ss:word') return { requestAuthentication: true };
      requests.push(`${request.method} ${request.url}`);
      return { dnsLookup: toLoopback as never };
    },
  });
  await proxy.listen();
  t.after(() => proxy.close(true));
  return { port: proxy.port, requests };
}

/** Every name is this machine, in both forms that a connection may ask for. */
const toLoopback = (_host: string, { all }: { all?: boolean }, answer: (error: null, addresses: unknown, family?: number) => void): void =>
  all ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4);

/** The least of RFC 1928 and 1929 that a client needs: user and password, CONNECT. */
async function socksProxy(t: TestContext, password = 'secret'): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const serve = async (client: Socket): Promise<void> => {
    const next = async (): Promise<Buffer> => new Promise((resolve) => client.once('data', resolve));
    const methods = await next();
    client.write(Buffer.from([5, methods.includes(2, 2) ? 2 : 255]));
    const login = await next();
    const nameLength = login[1] ?? 0;
    const correct = login.subarray(3 + nameLength).toString() === password;
    client.write(Buffer.from([1, correct ? 0 : 1]));
    if (!correct) return void client.end();
    const wish = await next();
    const named = wish[3] === 3;
    const host = named ? wish.subarray(5, 5 + (wish[4] ?? 0)).toString() : wish.subarray(4, 8).join('.');
    const port = wish.readUInt16BE(wish.length - 2);
    requests.push(`${named ? 'name' : 'address'} ${host}:${port}`);
    const out = connect(port, '127.0.0.1', () => {
      client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
      client.pipe(out).pipe(client);
    });
    out.on('error', () => client.destroy());
    client.once('close', () => out.destroy());
  };
  const { port } = await listen(
    t,
    createServer((client) => void serve(client)),
  );
  return { port, requests };
}

/** Nothing is ever given it by chance: one that was free a moment ago may be another process's now. */
const closedPort = 2;
const never = new AbortController().signal;

const proxyPolicy = (...urls: string[]): EgressPolicy => ({
  ...direct,
  upstreams: urls.map((url, index): Upstream => ({ url, ip: `198.51.100.${index}`, country: 'DE', isTrusted: true })),
});

async function both(from: Browser, port: number): Promise<[number, number]> {
  const plain = await fetchPlain(from, `http://127.0.0.1:${port}/`);
  const { reply } = await openTunnel(from, `127.0.0.1:${port}`);
  return [plain.status, reply.status];
}

test('the gate goes through an HTTP proxy with credentials, plain and by CONNECT', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const proxy = await httpProxy(t);
  const from = await browser(t, { policy: proxyPolicy(`http://me:p%40ss%3Aword@127.0.0.1:${proxy.port}`) });
  assert.deepEqual(await both(from, target.port), [200, 200]);
  assert.equal(proxy.requests.length, 2);
});

test('the gate asks an external proxy for the whole URL by name, and an internal one for the address that was checked', async (t) => {
  const seen: (string | undefined)[] = [];
  const target = await site(
    t,
    (request, response) => {
      seen.push(request.headers['proxy-authorization']);
      response.end('x');
    },
    '0.0.0.0',
  );
  const proxy = await httpProxy(t);
  const policy = proxyPolicy(`http://me:p%40ss%3Aword@127.0.0.1:${proxy.port}`);
  const resolver = async () => ['127.0.0.7'];
  const outside = await browser(t, { policy, resolver, isInternal: () => false });
  await fetchPlain(outside, `http://shop.example:${target.port}/a?b`);
  await openTunnel(outside, `shop.example:${target.port}`);
  const inside = await browser(t, { policy, resolver });
  await fetchPlain(inside, `http://shop.example:${target.port}/a?b`);
  assert.deepEqual(proxy.requests, [
    `GET http://shop.example:${target.port}/a?b`,
    `CONNECT shop.example:${target.port}`,
    `CONNECT 127.0.0.7:${target.port}`,
  ]);
  assert.deepEqual(seen, [undefined, undefined], 'the proxy’s password never reaches the site');
});

test('the gate goes through a SOCKS5 proxy with credentials and sends it the address', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const proxy = await socksProxy(t);
  const from = await browser(t, { policy: proxyPolicy(`socks5://me:secret@127.0.0.1:${proxy.port}`), resolver: async () => ['127.0.0.1'] });
  assert.equal((await fetchPlain(from, `http://shop.example:${target.port}/`)).body, 'x');
  const { socket } = await openTunnel(from, `shop.example:${target.port}`);
  assert.equal((await exchange(socket, get('/'))).body, 'x');
  assert.deepEqual(new Set(proxy.requests), new Set([`address 127.0.0.1:${target.port}`]));
});

test('the gate goes through an HTTPS proxy and refuses one whose certificate is not trusted', async (t) => {
  const [key, cert] = selfSigned();
  const inner = await httpProxy(t);
  const { port } = await listen(
    t,
    createTlsServer({ key, cert }, (client) => {
      const out = connect(inner.port, '127.0.0.1');
      client.on('error', () => {}).once('close', () => out.destroy());
      client.pipe(out.on('error', () => {})).pipe(client);
    }),
  );
  const target = await site(t, (_request, response) => response.end('x'));
  const policy = proxyPolicy(`https://me:p%40ss%3Aword@127.0.0.1:${port}`);
  const trusting = await browser(t, { policy, upstreamCa: cert });
  assert.deepEqual(await both(trusting, target.port), [200, 200]);
  assert.ok(trusting.route.stats().bytesIn > 500, 'the handshake is counted');
  const accepted = target.accepted();
  const strict = await browser(t, { policy });
  assert.deepEqual(await both(strict, target.port), [502, 502]);
  assert.equal(target.accepted(), accepted);
});

function selfSigned(): [key: string, cert: string] {
  const made = execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      '-',
      '-out',
      '-',
      '-days',
      '2',
      '-subj',
      '/CN=proxy',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const cut = made.indexOf('-----BEGIN CERTIFICATE');
  return [made.slice(0, cut), made.slice(cut)];
}

test('the gate never goes direct when the proxy is down, refuses the password or answers nonsense', async (t) => {
  const canary = await site(t, (_request, response) => response.end('leaked'));
  const proxy = await httpProxy(t);
  const socks = await socksProxy(t);
  const nonsense = await listen(
    t,
    createServer((socket) => socket.end('220 mail.example ESMTP\r\n')),
  );
  const forbids = createHttpServer((_request, response) => response.writeHead(403).end());
  const forbidding = await listen(t, forbids);
  const urls = [
    `http://127.0.0.1:${closedPort}`,
    `socks5://127.0.0.1:${closedPort}`,
    `https://127.0.0.1:${proxy.port}`,
    `http://me:wrong@127.0.0.1:${proxy.port}`,
    `http://127.0.0.1:${proxy.port}`,
    `socks5://me:wrong@127.0.0.1:${socks.port}`,
    `socks5://127.0.0.1:${socks.port}`,
    `http://127.0.0.1:${nonsense.port}`,
    `socks5://127.0.0.1:${nonsense.port}`,
    `http://127.0.0.1:${forbidding.port}`,
  ];
  for (const url of urls) {
    const from = await browser(t, { policy: proxyPolicy(url) });
    assert.deepEqual(await both(from, canary.port), [502, 502], url);
    assert.equal(from.route.lastRefusal('127.0.0.1', canary.port)?.reason, 'proxy_error', url);
  }
  assert.equal(canary.accepted(), 0);
});

test('the gate refuses internal addresses through a proxy as well', async (t) => {
  const proxy = await httpProxy(t);
  const policy = proxyPolicy(`http://me:p%40ss%3Aword@127.0.0.1:${proxy.port}`);
  const from = await browser(t, { policy, allowText: '', resolver: async () => ['10.1.2.3'] });
  const statuses = await Promise.all(
    ['127.0.0.1:80', '[::1]:443', 'inside.example:443'].map(async (to) => (await openTunnel(from, to)).reply.status),
  );
  assert.deepEqual(statuses, [403, 403, 403]);
  assert.deepEqual(proxy.requests, []);
});

test('the gate does not dial a caller’s proxy at an internal address, and does dial the operator’s', async (t) => {
  const proxy = await httpProxy(t);
  const [upstream] = proxyPolicy(`http://me:p%40ss%3Aword@127.0.0.1:${proxy.port}`).upstreams;
  assert.ok(upstream);
  const target = await site(t, (_request, response) => response.end('x'));
  const allowText = `127.0.0.1:${target.port}`;
  const callers = await browser(t, { allowText, policy: { ...direct, upstreams: [{ ...upstream, isTrusted: false }] } });
  assert.deepEqual(await both(callers, target.port), [502, 502]);
  const operators = await browser(t, { allowText, policy: { ...direct, upstreams: [upstream] } });
  assert.deepEqual(await both(operators, target.port), [200, 200]);
});

test('the gate reaches a bypassed host directly and no other', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t, {
    resolver: async () => ['127.0.0.1'],
    policy: { ...proxyPolicy(`http://127.0.0.1:${closedPort}`), bypass: ['*.near.example'] },
  });
  assert.equal((await openTunnel(from, `a.near.example:${target.port}`)).reply.status, 200);
  assert.equal((await openTunnel(from, `far.example:${target.port}`)).reply.status, 502);
});

test('the gate reports that it reached a host directly, and not where it used a proxy', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t, { resolver: async () => ['127.0.0.1'] });
  const known = (host: string): unknown => from.route.remoteAddress(host, target.port);
  assert.equal(known('site.example'), null);
  await fetchPlain(from, `http://site.example:${target.port}/`);
  assert.deepEqual(known('SITE.example.'), { ip: '127.0.0.1', port: target.port });
  const { port } = await httpProxy(t);
  from.route.apply({ ...proxyPolicy(`http://me:p%40ss%3Aword@127.0.0.1:${port}`), bypass: ['near.example'] });
  assert.equal(known('site.example'), null);
  for (const host of ['site', 'near']) assert.equal((await openTunnel(from, `${host}.example:${target.port}`)).reply.status, 200);
  assert.deepEqual([known('site.example'), known('near.example')], [null, { ip: '127.0.0.1', port: target.port }]);
});

test('a rotation goes to the next proxy that answers, closes connections through the one before, and keeps direct ones', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const [first, third] = [await httpProxy(t), await httpProxy(t)];
  const address = (port: number): string => `http://me:p%40ss%3Aword@127.0.0.1:${port}`;
  const policy = { ...proxyPolicy(address(first.port), address(closedPort), address(third.port)), bypass: ['near.example'] };
  const from = await browser(t, { policy, resolver: async () => ['127.0.0.1'] });
  const before = await openTunnel(from, `far.example:${target.port}`);
  const near = await openTunnel(from, `near.example:${target.port}`);
  assert.equal(from.route.stats().ip, '198.51.100.0');
  assert.equal((await from.route.rotate(never)).rotated, true);
  await eventually('the old tunnel is dropped', () => before.socket.resume().closed);
  assert.equal(near.socket.closed, false);
  await fetchPlain(from, `http://far.example:${target.port}/`);
  assert.deepEqual([first.requests.length, third.requests.length], [1, 1]);
  const { ip, rotations, rotatedAt } = from.route.stats();
  assert.deepEqual([ip, rotations, rotatedAt instanceof Date], ['198.51.100.2', 1, true]);
});

test('a rotation that fails says in words why', async (t) => {
  const from = await browser(t);
  assert.match(JSON.stringify(await from.route.rotate(never)), /"rotated":false.*no proxy/);
  from.route.apply(proxyPolicy('http://127.0.0.1:3128'));
  assert.match(JSON.stringify(await from.route.rotate(never)), /"rotated":false.*only one proxy/);
  from.route.apply(proxyPolicy('http://127.0.0.1:3128', `http://127.0.0.1:${closedPort}`));
  assert.match(JSON.stringify(await from.route.rotate(never)), /"rotated":false.*could be reached/);
  assert.equal(from.route.stats().rotations, 0);
});

test('a rotation stops when the caller aborts', async (t) => {
  const from = await browser(t, { policy: proxyPolicy('http://127.0.0.1:3128', 'http://127.0.0.1:3129') });
  await assert.rejects(from.route.rotate(AbortSignal.abort(new Error('caller left'))), /caller left/);
});

test('the gate takes the next proxy for each connection when the policy says so', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const proxies = [await httpProxy(t), await httpProxy(t)];
  const from = await browser(t, {
    policy: { ...proxyPolicy(...proxies.map(({ port }) => `http://me:p%40ss%3Aword@127.0.0.1:${port}`)), rotate: 'every_connection' },
  });
  for (let turn = 0; turn < 4; turn += 1) await openTunnel(from, `127.0.0.1:${target.port}`);
  assert.deepEqual(
    proxies.map(({ requests }) => requests.length),
    [2, 2],
  );
  assert.equal(from.route.stats().ip, null);
});

test('an upstream that is not a proxy address is refused without repeating its password', async (t) => {
  const from = await browser(t);
  assert.throws(
    () => from.route.apply(proxyPolicy('ftp://me:hush@proxy.example')),
    (error) => error instanceof TypeError && !error.message.includes('hush'),
  );
});
