import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { isRetryableFailure } from '@berth/contract';
import { Server as ProxyServer } from 'proxy-chain';
import { bareSite, client } from '../../testing/client.ts';
import { dnsServer } from '../../testing/dns.ts';
import { SystemNames } from '../names/system-names.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { direct, listen, site, type TestServer } from '../../testing/gate.ts';
import type { EgressPolicy } from '../egress.ts';

interface Certificate {
  key: string;
  cert: string;
}

/** Signed by itself, for 127.0.0.1 and these names. */
function certificate(names: readonly string[] = ['secure.example']): Certificate {
  const subject = ['IP:127.0.0.1', ...names.map((name) => `DNS:${name}`)].join(',');
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
      '/CN=test',
      '-addext',
      `subjectAltName=${subject}`,
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const cut = made.indexOf('-----BEGIN CERTIFICATE');
  return { key: made.slice(0, cut), cert: made.slice(cut) };
}

const secureSite = (t: TestContext, { key, cert }: Certificate, listener: RequestListener): Promise<TestServer> =>
  listen(t, createHttpsServer({ key, cert }, listener));

const resolver = async () => ['127.0.0.1'];

test('the HTTP client sends the requested name in the TLS handshake, and reuses the connection', async (t) => {
  const made = certificate(['secure.example']);
  const names: unknown[] = [];
  const target = await secureSite(t, made, (request, response) => {
    names.push((request.socket as unknown as { servername: unknown }).servername);
    response.end(`for ${request.headers.host}`);
  });
  const { fetch, route } = client(t, { resolver, ca: made.cert });
  const replies = [];
  for (const host of ['secure.example', 'secure.example', '127.0.0.1']) replies.push(await fetch(`https://${host}:${target.port}/`));
  assert.deepEqual(
    replies.map(({ body }) => body.toString()),
    ['secure.example', 'secure.example', '127.0.0.1'].map((host) => `for ${host}:${target.port}`),
  );
  assert.deepEqual([names, target.accepted()], [['secure.example', 'secure.example', false], 2]);
  assert.ok((replies[0]?.bytesIn ?? 0) > (replies[1]?.bytesIn ?? 0) + 400, 'the handshake is counted where it was made');
  const sum = replies.reduce((total, { bytesIn, bytesOut }) => [(total[0] ?? 0) + bytesIn, (total[1] ?? 0) + bytesOut], [0, 0]);
  assert.deepEqual(sum, [route.stats().bytesIn, route.stats().bytesOut]);
});

test('the HTTP client reports what is wrong with a certificate, unless HTTPS errors are ignored', async (t) => {
  const good = certificate();
  const { port } = await secureSite(t, good, (_request, response) => response.end('x'));
  const plain = await bareSite(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const leaves = await bareSite(t, (socket) => socket.resetAndDestroy());
  const { failure, fetch, route } = client(t, { resolver, ca: good.cert });
  const failureOf = async (url: string): Promise<unknown> => {
    const { reason, netError } = await failure(url);
    return [reason, netError];
  };
  assert.deepEqual(await failureOf(`https://other.example:${port}/`), ['tls_error', 'net::ERR_CERT_COMMON_NAME_INVALID']);
  assert.deepEqual(await failureOf(`https://127.0.0.1:${plain.port}/`), ['tls_error', 'net::ERR_SSL_PROTOCOL_ERROR']);
  assert.deepEqual(await failureOf(`https://127.0.0.1:${leaves.port}/`), ['connection_reset', 'net::ERR_CONNECTION_RESET']);
  assert.equal((await fetch(`https://other.example:${port}/`, { ignoreHttpsErrors: true })).status, 200);
  assert.deepEqual(
    await failureOf(`https://other.example:${port}/`),
    ['tls_error', 'net::ERR_CERT_COMMON_NAME_INVALID'],
    'nor lends the connection to who minds',
  );
  const strict = client(t, { resolver });
  const failed = await strict.failure(`https://secure.example:${port}/`);
  assert.deepEqual([failed.reason, failed.netError], ['tls_error', 'net::ERR_CERT_AUTHORITY_INVALID']);
  assert.ok(failed.progress.bytesIn > 0);
  assert.deepEqual([failed.progress.bytesIn, failed.progress.bytesOut], [strict.route.stats().bytesIn, strict.route.stats().bytesOut]);
  assert.equal(route.lastRefusal('other.example', port), null);
  const silent = await bareSite(t, () => {});
  assert.equal((await failure(`https://127.0.0.1:${silent.port}/`, { timeoutMs: 60 })).reason, 'timeout');
  await eventually('a handshake that hangs is aborted', () => silent.open() === 0);
});

test('the HTTP client drops secrets on a redirect from https to http of the same host', async (t) => {
  const made = certificate();
  const seen: unknown[] = [];
  const plain = await site(t, (request, response) => {
    seen.push([request.headers.authorization, request.headers.cookie]);
    response.end();
  });
  const secure = await secureSite(t, made, (_request, response) =>
    response.writeHead(302, { location: `http://secure.example:${plain.port}/` }).end(),
  );
  const { fetch } = client(t, { resolver, ca: made.cert });
  await fetch(`https://secure.example:${secure.port}/`, {
    headers: { authorization: 'Bearer hush' },
    cookies: [{ name: 'a', value: 'hush' }],
  });
  assert.deepEqual(seen, [[undefined, undefined]]);
});

interface Proxy {
  port: number;
  requests: string[];
}

async function httpProxy(t: TestContext, credentials: string): Promise<Proxy> {
  const requests: string[] = [];
  const dnsLookup = (_host: string, { all }: { all?: boolean }, answer: (error: null, addresses: unknown, family?: number) => void): void =>
    all ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4);
  const proxy = new ProxyServer({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ request, username, password }) => {
      if (`${username}:${password}` !== credentials) return { requestAuthentication: true };
      requests.push(`${request.method} ${request.url}`);
      return { dnsLookup: dnsLookup as never };
    },
  });
  await proxy.listen();
  t.after(() => proxy.close(true));
  return { port: proxy.port, requests };
}

/** The least of SOCKS5 that a client without credentials needs. */
function socksProxy(t: TestContext): Promise<{ port: number }> {
  const accept = createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]));
      socket.once('data', (wish: Buffer) => {
        const out = connect(wish.readUInt16BE(wish.length - 2), wish.subarray(4, 8).join('.'), () => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          socket.pipe(out).pipe(socket);
        });
        socket.once('close', () => out.destroy());
        out.on('error', () => socket.destroy());
      });
    });
  });
  return listen(t, accept);
}

const proxyPolicy = (...urls: string[]): EgressPolicy => ({
  ...direct,
  upstreams: urls.map((url) => ({ url, ip: null, country: null, isTrusted: true })),
});

test('the HTTP client goes through proxies of each kind, plain and encrypted, and counts what passes them', async (t) => {
  const made = certificate();
  const plain = await site(t, (request, response) => response.end(String(request.headers['proxy-authorization'])));
  const secure = await secureSite(t, made, (request, response) => response.end(String(request.headers['proxy-authorization'])));
  const proxy = await httpProxy(t, 'me:p@ss');
  const socks = await socksProxy(t);
  const https = await listen(
    t,
    createTlsServer(made, (socket) => {
      const out = connect(proxy.port, '127.0.0.1');
      socket.on('error', () => {}).once('close', () => out.destroy());
      socket.pipe(out.on('error', () => {})).pipe(socket);
    }),
  );
  for (const url of [
    `http://me:p%40ss@127.0.0.1:${proxy.port}`,
    `https://me:p%40ss@127.0.0.1:${https.port}`,
    `socks5://127.0.0.1:${socks.port}`,
  ])
    for (const isInternal of [undefined, () => false]) {
      const { fetch, route } = client(t, {
        resolver,
        ca: made.cert,
        upstreamCa: made.cert,
        policy: proxyPolicy(url),
        ...(isInternal ? { isInternal } : {}),
      });
      const replies = [await fetch(`http://secure.example:${plain.port}/`), await fetch(`https://secure.example:${secure.port}/`)];
      assert.deepEqual([...replies.map(({ body }) => body.toString())], ['undefined', 'undefined'], url);
      const sum = replies.reduce((total, { bytesIn, bytesOut }) => [(total[0] ?? 0) + bytesIn, (total[1] ?? 0) + bytesOut], [0, 0]);
      assert.deepEqual(sum, [route.stats().bytesIn, route.stats().bytesOut], url);
    }
  assert.deepEqual(
    proxy.requests.map((line) => line.split(' ')[0]),
    ['CONNECT', 'CONNECT', 'GET', 'CONNECT', 'CONNECT', 'CONNECT', 'GET', 'CONNECT'],
  );
});

test('the HTTP client never goes direct when a proxy is down or refuses, and reports a proxy error', async (t) => {
  const canary = await site(t, (_request, response) => response.end('leaked'));
  const proxy = await httpProxy(t, 'me:right');
  const closing = createServer();
  const closed = await listen(t, closing);
  closing.close();
  const urls = [
    `http://127.0.0.1:${closed.port}`,
    `socks5://127.0.0.1:${closed.port}`,
    `https://127.0.0.1:${proxy.port}`,
    `http://me:hush@127.0.0.1:${proxy.port}`,
  ];
  for (const url of urls)
    for (const isInternal of [() => true, () => false]) {
      const { failure, route } = client(t, { policy: proxyPolicy(url), isInternal });
      for (const scheme of ['http', 'https']) {
        const failed = await failure(`${scheme}://127.0.0.1:${canary.port}/`);
        assert.equal(failed.reason, 'proxy_error', `${scheme} by ${url}`);
        assert.doesNotMatch(failed.message, /hush/);
      }
      assert.equal(route.lastRefusal('127.0.0.1', canary.port)?.reason, 'proxy_error', url);
    }
  assert.equal(canary.accepted(), 0);
});

test('the HTTP client refuses internal addresses through a proxy as well', async (t) => {
  const proxy = await httpProxy(t, 'me:right');
  const { failure } = client(t, {
    policy: proxyPolicy(`http://me:right@127.0.0.1:${proxy.port}`),
    allowText: '',
    resolver: async () => ['10.1.2.3'],
  });
  for (const url of ['http://inside.example/', 'https://[::1]/', 'http://169.254.169.254/'])
    assert.equal((await failure(url)).reason, 'blocked_by_policy', url);
  assert.deepEqual(proxy.requests, []);
});

test('the HTTP client uses the next proxy after a rotation, not an idle connection through the previous one', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const proxies = [await httpProxy(t, 'me:one'), await httpProxy(t, 'me:two')];
  const policy = proxyPolicy(...proxies.map(({ port }, at) => `http://me:${at === 0 ? 'one' : 'two'}@127.0.0.1:${port}`));
  const { fetch, route } = client(t, { policy });
  const requests = (): number[] => proxies.map((proxy) => proxy.requests.length);
  for (let turn = 0; turn < 2; turn += 1) await fetch(`http://127.0.0.1:${target.port}/`);
  assert.deepEqual(requests(), [1, 0]);
  assert.equal((await route.rotate(t.signal)).rotated, true);
  await fetch(`http://127.0.0.1:${target.port}/`);
  assert.deepEqual(requests(), [1, 1]);
  route.apply(direct);
  await fetch(`http://127.0.0.1:${target.port}/`);
  assert.deepEqual([requests(), target.accepted()], [[1, 1], 3]);
});

test('the HTTP client keeps to a policy that is applied while it keeps connections', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const { fetch, failure, route } = client(t);
  await fetch(`http://127.0.0.1:${target.port}/`);
  route.apply({ ...direct, allowedDomains: ['other.example'] });
  assert.equal((await failure(`http://127.0.0.1:${target.port}/`)).reason, 'blocked_by_policy');
});

test('the HTTP client distinguishes a name that does not exist from a server that fails or is silent', async (t) => {
  const dns = await dnsServer(t, {});
  const { resolve } = new SystemNames({ servers: [dns.address], hostsPath: '/dev/null' });
  const { failure } = client(t, { resolver: resolve, limits: { resolveTimeoutMs: 500 } });
  for (const [name, netError, retryable] of [
    ['no.none.test', 'net::ERR_NAME_NOT_RESOLVED', false],
    ['a.broken.test', 'net::ERR_NAME_RESOLUTION_FAILED', true],
    ['a.half.test', 'net::ERR_NAME_RESOLUTION_FAILED', true],
    ['silent.test', 'net::ERR_NAME_RESOLUTION_FAILED', true],
  ] as const) {
    const failed = await failure(`http://${name}/`);
    assert.deepEqual(
      [failed.reason, failed.netError, isRetryableFailure(failed.reason, failed.netError)],
      ['dns_failed', netError, retryable],
      name,
    );
  }
});
