import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { bareSite, client, withBody } from '../../testing/client.ts';
import { createHttpClient, type HttpResult } from '../egress.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { direct, listen, site } from '../../testing/gate.ts';

test('the HTTP client returns status, headers, cookie names, body and times of a response', async (t) => {
  const { port } = await site(t, (_request, response) =>
    response
      .writeHead(418, 'Teapot', [
        ['Content-Type', 'text/plain; charset=utf-8'],
        ['X-Two', 'a'],
        ['x-two', 'b'],
        ['Set-Cookie', 'one=1'],
        ['Set-Cookie', 'two=2; Path=/'],
        ['X-Berth-Egress', 'timeout'],
      ] as never)
      .end('short and stout'),
  );
  const { fetch } = client(t);
  const reply = await fetch(`http://127.0.0.1:${port}/pot?x=1#part`);
  assert.deepEqual([reply.status, reply.statusText, reply.body.toString()], [418, 'Teapot', 'short and stout']);
  assert.deepEqual([reply.headers['x-two'], reply.headers['set-cookie'], reply.headers['x-berth-egress']], ['a, b', undefined, undefined]);
  assert.deepEqual(reply.setCookieNames, ['one', 'two']);
  assert.equal(reply.contentType, 'text/plain; charset=utf-8');
  assert.equal(reply.url, `http://127.0.0.1:${port}/pot?x=1#part`);
  assert.deepEqual([reply.redirects, reply.truncated, reply.warnings], [[], false, []]);
  assert.ok(reply.ttfbMs > 0 && reply.bytesIn > 0 && reply.bytesOut > 0);
});

test('the HTTP client sends the caller’s headers, default ones where there are none, and no hop-by-hop headers', async (t) => {
  const seen: IncomingMessage[] = [];
  const { port } = await site(t, (request, response) => {
    seen.push(request);
    response.end();
  });
  const { fetch } = client(t);
  await fetch(`http://127.0.0.1:${port}/`);
  assert.deepEqual(seen[0]?.headers, {
    host: `127.0.0.1:${port}`,
    connection: 'keep-alive',
    'user-agent': 'test/1',
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': 'en-US,en;q=0.9',
    'accept-encoding': 'gzip, deflate, br, zstd',
  });
  const odd = {
    Host: 'inside.example',
    'Proxy-Authorization': 'Basic x',
    'Transfer-Encoding': 'chunked',
    'Content-Length': '99',
    'X-Bad': 'a\r\nInjected: 1',
  };
  const reply = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'mine', 'X-Own': 'yes', ...odd } });
  const { host, 'user-agent': agent, 'x-own': own, 'proxy-authorization': proxy, injected, 'x-bad': bad } = seen[1]?.headers ?? {};
  assert.deepEqual([host, agent, own, proxy, injected, bad], [`127.0.0.1:${port}`, 'mine', 'yes', undefined, undefined, undefined]);
  assert.deepEqual(
    reply.warnings,
    ['host', 'proxy-authorization', 'transfer-encoding', 'content-length', 'x-bad'].map((name) => `header_dropped:${name}`),
  );
});

test('the HTTP client sends a body with its length, and credentials of an address to its site alone', async (t) => {
  const seen: unknown[] = [];
  const { port } = await site(t, (request, response) => {
    const { 'content-length': length, authorization } = request.headers;
    withBody(request, (body) => response.end(String(seen.push([request.method, length, authorization, body]))));
  });
  const { fetch } = client(t);
  const reply = await fetch(`http://me:p%40ss@127.0.0.1:${port}/`, { method: 'POST', body: 'größe' });
  await fetch(`http://127.0.0.1:${port}/`, { method: 'PUT', body: null });
  assert.deepEqual(seen, [
    ['POST', '7', `Basic ${Buffer.from('me:p@ss').toString('base64')}`, 'größe'],
    ['PUT', '0', undefined, ''],
  ]);
  assert.equal(reply.url, `http://127.0.0.1:${port}/`);
});

test('the HTTP client reuses connections, and closes all of them when it closes', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const { fetch, http } = client(t);
  for (let turn = 0; turn < 5; turn += 1) await fetch(`http://127.0.0.1:${target.port}/`);
  assert.equal(target.accepted(), 1);
  await Promise.all(Array.from({ length: 100 }, () => fetch(`http://127.0.0.1:${target.port}/`)));
  assert.ok(target.accepted() <= 65, `${target.accepted()} connections for a hundred requests at once`);
  await eventually('no more idle connections of one site than are bounded', () => target.open() <= 16);
  http.close();
  await eventually('all are closed', () => target.open() === 0);
});

test('the HTTP client retries when the site closes a reused connection, but never sends a body twice', async (t) => {
  const served = new WeakSet<object>();
  const target = await bareSite(t, (socket) => {
    if (served.has(socket)) socket.resetAndDestroy();
    else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx');
    served.add(socket);
  });
  const { fetch, failure } = client(t);
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await fetch(`http://127.0.0.1:${target.port}/`)).status, 200);
  assert.equal(target.accepted(), 3);
  assert.equal((await failure(`http://127.0.0.1:${target.port}/`, { method: 'POST', body: 'once' })).reason, 'connection_reset');
  assert.equal(target.accepted(), 3);
});

test('the HTTP client counts the same bytes as the route', async (t) => {
  const { port } = await site(t, (request, response) => {
    if (request.url === '/hop') response.writeHead(302, { location: '/' }).end('gone');
    else response.end('x'.repeat(50_000));
  });
  const { fetch, route } = client(t);
  const replies: HttpResult[] = [];
  for (const path of ['/', '/hop', '/'])
    replies.push(await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: 'y'.repeat(1000) }));
  const sum = (pick: (reply: HttpResult) => number): number => replies.reduce((total, reply) => total + pick(reply), 0);
  const { bytesIn, bytesOut } = route.stats();
  assert.deepEqual([sum((reply) => reply.bytesIn), sum((reply) => reply.bytesOut)], [bytesIn, bytesOut]);
  assert.ok(bytesIn > 150_000 && bytesOut > 3000);
});

test('the HTTP client distinguishes an unknown name, a closed port, a reset, silence and nonsense', async (t) => {
  const closing = createServer();
  const closed = await listen(t, closing);
  closing.close();
  const resets = await bareSite(t, (socket) => socket.resetAndDestroy());
  const leaves = await bareSite(t, (socket) => socket.end());
  const silent = await bareSite(t, () => {});
  const nonsense = await bareSite(t, (socket) => socket.end('220 mail.example ESMTP\r\n'));
  const bomb = await bareSite(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\n${`X-Bomb: ${'b'.repeat(8000)}\r\n`.repeat(40)}\r\n`));
  const informs = await bareSite(t, (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)));
  const { failure } = client(t, { resolver: () => Promise.reject(new Error('ENOTFOUND')) });
  const failureOf = async (url: string, timeoutMs = 30_000): Promise<unknown> => {
    const { reason, netError } = await failure(url, { timeoutMs });
    return [reason, netError];
  };
  assert.deepEqual(await failureOf('http://dead.example/'), ['dns_failed', 'net::ERR_NAME_NOT_RESOLVED']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${closed.port}/`), ['connection_refused', 'net::ERR_CONNECTION_REFUSED']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${resets.port}/`), ['connection_reset', 'net::ERR_CONNECTION_RESET']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${leaves.port}/`), ['connection_reset', 'net::ERR_EMPTY_RESPONSE']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${silent.port}/`, 50), ['timeout', 'net::ERR_TIMED_OUT']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${nonsense.port}/`), ['connection_reset', 'net::ERR_INVALID_HTTP_RESPONSE']);
  assert.deepEqual(await failureOf(`http://127.0.0.1:${bomb.port}/`), ['connection_reset', 'net::ERR_RESPONSE_HEADERS_TOO_BIG']);
  assert.equal((await failure(`http://127.0.0.1:${informs.port}/`)).reason, 'connection_reset');
  await eventually('nothing is left open', () => [resets, leaves, silent, nonsense, bomb, informs].every(({ open }) => open() === 0));
});

test('the HTTP client passes over informational replies', async (t) => {
  const { port } = await bareSite(t, (socket) =>
    socket.write(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nreal',
    ),
  );
  assert.equal((await client(t).fetch(`http://127.0.0.1:${port}/`)).body.toString(), 'real');
});

test('the HTTP client ends a request at once when its caller aborts or the client is closed', async (t) => {
  const target = await bareSite(t, () => {});
  const { http, failure } = client(t);
  const caller = new AbortController();
  const request = {
    url: `http://127.0.0.1:${target.port}/`,
    method: 'GET',
    headers: {},
    body: null,
    cookies: [],
    bodyBytesMax: 1,
    wireBytesMax: 1,
    redirectsMax: 1,
    timeoutMs: 30_000,
  } as const;
  const aborted = http.request(request, { signal: caller.signal });
  await eventually('the site is asked', () => target.open() === 1);
  caller.abort(new Error('caller left'));
  await assert.rejects(aborted, /caller left/);
  await eventually('the site is closed', () => target.open() === 0);
  const closed = failure(request.url);
  await eventually('the site is asked again', () => target.open() === 1);
  http.close();
  assert.deepEqual([(await closed).reason, (await failure(request.url)).reason], ['aborted', 'aborted']);
});

test('the HTTP client ends with its route', async (t) => {
  const target = await bareSite(t, () => {});
  const { route, failure } = client(t);
  const running = failure(`http://127.0.0.1:${target.port}/`);
  await eventually('the site is asked', () => target.open() === 1);
  route.close();
  assert.equal((await running).reason, 'connection_reset');
  assert.equal((await failure(`http://127.0.0.1:${target.port}/`)).reason, 'connection_reset');
  assert.equal(route.stats().bytesIn, 0);
});

const refused = ['blocked_by_policy', 'net::ERR_BLOCKED_BY_CLIENT'];

test('the HTTP client refuses every spelling of an internal address, and any address before there is a policy', async (t) => {
  const { failure, route } = client(t, { allowText: '', resolver: async () => ['93.184.216.34', '10.1.2.3'] });
  const hosts = [
    '2852039166',
    '0xA9FEA9FE',
    '127.1',
    '0',
    'localhost.',
    '①②⑦.⓪.⓪.①',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
    'ok@127.0.0.1',
    'mixed.example',
  ];
  for (const host of hosts) {
    const { reason, netError } = await failure(`http://${host}/`);
    assert.deepEqual([reason, netError], refused, host);
  }
  assert.equal(route.lastRefusal('mixed.example', 80)?.reason, 'blocked_by_policy');
  assert.equal(route.stats().bytesOut, 0);
  assert.equal((await client(t, { policy: null }).failure('http://127.0.0.1/')).reason, 'blocked_by_policy');
});

test('the HTTP client keeps to allowed domains and refuses advertising hosts when asked to', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'));
  const policy = { ...direct, allowedDomains: ['*.shop.example', 'x.doubleclick.net'], blockAds: true };
  const { failure, fetch } = client(t, { policy, resolver: async () => ['127.0.0.1'] });
  assert.equal((await fetch(`http://a.shop.example:${port}/`)).status, 200);
  assert.equal((await failure(`http://shop.example:${port}/`)).reason, 'blocked_by_policy');
  assert.equal((await failure(`http://x.doubleclick.net:${port}/`)).reason, 'blocked_by_policy');
});

test('the HTTP client refuses the ports that browsers refuse even where the operator allows all, and schemes that are not the web’s', async (t) => {
  const { failure, route } = client(t);
  for (const port of [0, 1, 7, 9, 22, 25, 6000, 6566, 6679, 6697, 10_080]) {
    const { reason, netError } = await failure(`http://127.0.0.1:${port}/`);
    assert.deepEqual([reason, netError], ['blocked_by_policy', 'net::ERR_UNSAFE_PORT'], String(port));
  }
  for (const url of ['file:///etc/passwd', 'ftp://127.0.0.1/', 'data:text/html,x', 'ws://127.0.0.1/'])
    assert.equal((await failure(url)).netError, 'net::ERR_DISALLOWED_URL_SCHEME', url);
  assert.equal(route.stats().bytesOut, 0);
});

test('the HTTP client dials the checked address when the name resolves to another one the next time', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('good'));
  const answers = [['127.0.0.1'], ['127.9.9.9']];
  const { fetch } = client(t, { allowText: `127.0.0.1:${port}`, resolver: async () => answers.shift() ?? ['127.9.9.9'] });
  assert.equal((await fetch(`http://rebind.example:${port}/`)).body.toString(), 'good');
});

test('the HTTP client lets no header, body, cookie, path or credential into the log or a failure', async (t) => {
  const lines: string[] = [];
  const write = (fields: object, message: string): void => void lines.push(JSON.stringify(fields) + message);
  const log: Log = { ...silentLog, debug: write, info: write, warn: write, error: write, child: () => log };
  const { port } = await bareSite(t, (socket) => socket.resetAndDestroy());
  const { failure } = client(t, { log });
  const secret = {
    method: 'POST',
    headers: { authorization: 'Bearer hush', cookie: 'c=hush' },
    cookies: [{ name: 'd', value: 'hush' }],
    body: 'hush',
  } as const;
  const failures = [
    await failure(`http://me:hush@127.0.0.1:${port}/hush?token=hush`, secret),
    await failure('http://hush@10.0.0.1/hush', secret),
  ];
  assert.ok(lines.length >= 2, 'the refusals are logged');
  assert.doesNotMatch(lines.join() + failures.map((each) => JSON.stringify(each) + each.stack).join(), /hush/);
});

test('the HTTP client accepts only routes of a gate', () => {
  assert.throws(() => createHttpClient({} as never, { userAgent: 'x' }), TypeError);
});

test('the HTTP client queues a flood of requests instead of opening a connection for each', async (t) => {
  const held: (() => void)[] = [];
  const target = await site(t, (_request, response) => void held.push(() => response.end('x')));
  const { fetch } = client(t);
  const all = Array.from({ length: 80 }, () => fetch(`http://127.0.0.1:${target.port}/`));
  await eventually('as many as may run are at the site', () => held.length === 64);
  for (const answer of held.splice(0)) answer();
  await eventually('the rest follow', () => held.length === 16);
  for (const answer of held) answer();
  assert.equal((await Promise.all(all)).length, 80);
});

test('the HTTP client works with a site that closes its connection after each reply', async (t) => {
  const target = await bareSite(t, (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nto the end'));
  const { fetch } = client(t);
  for (let turn = 0; turn < 2; turn += 1) {
    const { body, truncated } = await fetch(`http://127.0.0.1:${target.port}/`);
    assert.deepEqual([body.toString(), truncated], ['to the end', false]);
  }
  assert.equal(target.accepted(), 2);
});

test('the HTTP client stops waiting for a connection when the request times out', async (t) => {
  const { failure, route } = client(t, { resolver: () => new Promise(() => {}) });
  assert.equal((await failure('http://slow.example/', { timeoutMs: 40 })).reason, 'timeout');
  assert.equal(route.lastRefusal('slow.example', 80), null);
  const proxy = await bareSite(t, () => {});
  route.apply({ ...direct, upstreams: [{ url: `http://127.0.0.1:${proxy.port}`, ip: null, country: null, isTrusted: true }] });
  const waiting = failure('http://127.0.0.1:8081/', { timeoutMs: 2000 });
  await eventually('the proxy is dialled', () => proxy.open() === 1);
  assert.equal((await waiting).reason, 'timeout');
  await eventually('and closed', () => proxy.open() === 0);
});
