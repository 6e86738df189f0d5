import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { bareSite, client, withBody } from '../../testing/client.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { listen, site, type TestServer } from '../../testing/gate.ts';

interface Seen {
  line: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** `/301?to` answers 301 with that location; anything else answers 200. */
async function redirecting(t: TestContext): Promise<TestServer & { seen: Seen[] }> {
  const seen: Seen[] = [];
  const listening = await site(t, (request, response) =>
    withBody(request, (body) => {
      seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      const [path = '', to = ''] = (request.url ?? '').split('?');
      const status = Number(path.slice(1));
      if (status >= 300) response.writeHead(status, { location: decodeURIComponent(to) }).end('moved');
      else response.end('here');
    }),
  );
  return { ...listening, seen };
}

const names = { resolver: async () => ['127.0.0.1'] };
const toward = (status: number, to: string): string => `/${status}?${encodeURIComponent(to)}`;

test('a redirect is followed to relative, absolute and bare fragment locations, and reported', async (t) => {
  const { port } = await redirecting(t);
  const { fetch } = client(t, names);
  const home = `http://127.0.0.1:${port}`;
  const other = `http://other.example:${port}/end?x=${Buffer.from('ü').toString('latin1')}#new`;
  const reply = await fetch(`${home}${toward(302, `.${toward(308, other)}`)}#old`);
  assert.equal(reply.url, `http://other.example:${port}/end?x=%C3%BC#new`);
  assert.deepEqual(
    reply.redirects.map(({ statusCode }) => statusCode),
    [302, 308],
  );
  assert.ok(reply.redirects.every(({ url }) => url.startsWith(home)));
  assert.equal((await fetch(`${home}${toward(301, '/end')}#old`)).url, `${home}/end#old`);
});

test('a redirect without a location, or with a status that is not a redirect, is returned as the response', async (t) => {
  const { port } = await site(t, (request, response) =>
    response
      .writeHead(
        request.url === '/304' ? 304 : request.url === '/300' ? 300 : 302,
        request.url === '/302' ? {} : { location: request.url === '/empty' ? '' : '/x' },
      )
      .end(),
  );
  const { fetch } = client(t);
  for (const path of ['/300', '/304', '/302', '/empty']) {
    const { status, redirects } = await fetch(`http://127.0.0.1:${port}${path}`);
    assert.deepEqual([status, redirects], [path === '/empty' ? 302 : Number(path.slice(1)), []], path);
  }
});

const rules = [
  [301, 'POST', 'GET /end', ''],
  [302, 'POST', 'GET /end', ''],
  [303, 'POST', 'GET /end', ''],
  [307, 'POST', 'POST /end', 'payload'],
  [308, 'POST', 'POST /end', 'payload'],
  [301, 'PUT', 'PUT /end', 'payload'],
  [303, 'DELETE', 'GET /end', ''],
  [302, 'GET', 'GET /end', ''],
  [303, 'HEAD', 'HEAD /end', ''],
] as const;

test('a redirect keeps or changes the method and the body as browsers do', async (t) => {
  const { port, seen } = await redirecting(t);
  const { fetch } = client(t);
  for (const [status, method, line, body] of rules) {
    const sent = method === 'GET' || method === 'HEAD' ? {} : { body: 'payload', headers: { 'content-type': 'text/odd', 'x-same': '1' } };
    await fetch(`http://127.0.0.1:${port}${toward(status, '/end')}`, { method, ...sent });
    const last = seen.at(-1);
    assert.deepEqual([last?.line, last?.body], [line, body], `${status} ${method}`);
    assert.equal(last?.headers['content-type'], body === '' ? undefined : 'text/odd', `${status} ${method}`);
    if ('headers' in sent) assert.equal(last?.headers['x-same'], '1');
  }
});

test('a redirect to another origin drops the caller’s credentials and cookies, also when it leads back', async (t) => {
  const { port, seen } = await redirecting(t);
  const { fetch } = client(t, names);
  const secrets = { authorization: 'Bearer hush', cookie: 'own=hush', 'x-api-key': 'hush', 'x-auth-token': 'hush' };
  const [mine, other] = [`http://mine.example:${port}`, `http://other.example:${port}`];
  const request = { headers: { ...secrets, 'x-plain': '1' }, cookies: [{ name: 'given', value: 'hush' }] };
  await fetch(`${mine}${toward(302, toward(302, `${other}${toward(302, `${mine}/end`)}`))}`, request);
  const received = seen.map(({ headers }) => [headers.host, ...Object.keys(secrets).map((name) => headers[name]), headers['x-plain']]);
  const at = (host: string) => `${host}.example:${port}`;
  assert.deepEqual(received, [
    [at('mine'), 'Bearer hush', 'own=hush; given=hush', 'hush', 'hush', '1'],
    [at('mine'), 'Bearer hush', 'own=hush; given=hush', 'hush', 'hush', '1'],
    [at('other'), undefined, undefined, undefined, undefined, '1'],
    [at('mine'), undefined, 'given=hush', undefined, undefined, '1'],
  ]);
});

test('a redirect keeps the credentials of an address within its origin', async (t) => {
  const { port, seen } = await redirecting(t);
  const { fetch } = client(t, names);
  const mine = `mine.example:${port}`;
  const reply = await fetch(`http://me:hush@${mine}${toward(302, `http://${mine}${toward(302, `http://other.example:${port}/`)}`)}`);
  assert.deepEqual(
    seen.map(({ headers }) => headers.authorization !== undefined),
    [true, true, false],
  );
  assert.doesNotMatch(JSON.stringify([reply.url, reply.redirects]), /hush/);
});

test('cookies that a redirect sets are sent to the hosts that they are for', async (t) => {
  const cookies: (string | undefined)[] = [];
  const { port } = await site(t, (request, response) => {
    cookies.push(request.headers.cookie);
    const set = [
      'wide=1; Domain=shop.example',
      'narrow=1',
      'super=1; Domain=example',
      'foreign=1; Domain=other.example',
      'gone=1; Max-Age=0',
      'safe=1; Secure',
    ];
    if (request.url === '/') response.writeHead(302, { 'set-cookie': set, location: `http://b.shop.example:${port}/b` }).end();
    else if (request.url === '/b') response.writeHead(302, { location: `http://a.shop.example:${port}/c` }).end();
    else if (request.url === '/c') response.writeHead(302, { location: `http://other.example:${port}/d` }).end();
    else response.end();
  });
  const { fetch } = client(t, names);
  const reply = await fetch(`http://a.shop.example:${port}/`);
  assert.deepEqual(cookies, [undefined, 'wide=1', 'wide=1; narrow=1', undefined]);
  assert.deepEqual(reply.setCookieNames, ['wide', 'narrow', 'super', 'foreign', 'gone', 'safe']);
  await fetch(`http://a.shop.example:${port}/end`);
  assert.equal(cookies.at(-1), undefined, 'requests share no cookies');
});

test('the caller’s cookies are sent where they are for, and those for a public suffix and broken ones are refused', async (t) => {
  const { port, seen } = await redirecting(t);
  const { fetch } = client(t, names);
  const cookies = [
    { name: 'host', value: '1' },
    { name: 'wide', value: 'ü', domain: '.shop.example', path: '/' },
    { name: 'deep', value: '1', path: '/deep' },
    { name: 'far', value: '1', domain: 'other.example' },
  ];
  const last = toward(302, `http://other.example:${port}/`);
  const url = `http://www.shop.example:${port}${toward(302, `http://api.shop.example:${port}${last}`)}`;
  assert.deepEqual((await fetch(url, { cookies })).warnings, []);
  const sent = seen.map(({ headers }) => Buffer.from(headers.cookie ?? '', 'latin1').toString());
  assert.deepEqual(sent, ['host=1; wide=ü', 'wide=ü', 'far=1']);
  for (const bad of [
    { name: 'a', value: '1', domain: 'co.uk' },
    { name: 'a', value: 'b\r\nX: 1' },
    { name: 'a;b', value: '1' },
    { name: 'a', value: '1', domain: 'a b' },
  ])
    assert.deepEqual((await fetch(`http://a.shop.example:${port}/`, { cookies: [bad] })).warnings, ['cookie_refused'], JSON.stringify(bad));
});

test('a loop of redirects is ended, and as many redirects as allowed are followed', async (t) => {
  const { port } = await redirecting(t);
  let left = 20;
  const chain = await site(t, (_request, response) =>
    left-- > 0 ? response.writeHead(302, { location: '/' }).end() : response.end('done'),
  );
  const { fetch, failure } = client(t);
  assert.equal((await fetch(`http://127.0.0.1:${chain.port}/`)).redirects.length, 20);
  const loop = await site(t, (request, response) => response.writeHead(302, { location: request.url === '/a' ? '/b' : '/a' }).end('again'));
  const looped = await failure(`http://127.0.0.1:${loop.port}/a`);
  assert.deepEqual(
    [looped.reason, looped.netError, looped.progress.redirects.length],
    ['too_many_redirects', 'net::ERR_TOO_MANY_REDIRECTS', 21],
  );
  assert.ok(looped.progress.bytesIn > 0);
  assert.equal(loop.accepted(), 1, 'small redirects keep the connection');
  assert.equal((await failure(`http://127.0.0.1:${port}${toward(302, '/end')}`, { redirectsMax: 0 })).reason, 'too_many_redirects');
});

test('a redirect to an internal address, another scheme, an unsafe port or nowhere is refused, and those before it are reported', async (t) => {
  const secret = await site(t, (_request, response) => response.end('secret'));
  const { port } = await redirecting(t);
  const { failure } = client(t, { allowText: `127.0.0.1:${port}`, resolver: async () => ['10.0.0.1'] });
  const failureOf = async (to: string): Promise<unknown> => {
    const { reason, netError, progress } = await failure(`http://127.0.0.1:${port}${toward(307, to)}`);
    return [reason, netError, progress.redirects.length];
  };
  for (const to of [
    `http://127.0.0.1:${secret.port}/`,
    'http://169.254.169.254/latest/meta-data',
    'http://inside.example/',
    'http://[::ffff:a00:1]/',
    '//0x7f.1/',
  ])
    assert.deepEqual(await failureOf(to), ['blocked_by_policy', 'net::ERR_BLOCKED_BY_CLIENT', 1], to);
  for (const to of ['file:///etc/passwd', 'javascript:alert(1)', 'data:text/html,x', 'ftp://127.0.0.1/'])
    assert.deepEqual(await failureOf(to), ['blocked_by_policy', 'net::ERR_UNSAFE_REDIRECT', 1], to);
  assert.deepEqual(await failureOf('http://127.0.0.1:6667/'), ['blocked_by_policy', 'net::ERR_UNSAFE_PORT', 1]);
  assert.deepEqual(await failureOf('http://[/'), ['aborted', 'net::ERR_INVALID_REDIRECT', 1]);
  assert.equal(secret.accepted(), 0);
});

test("a redirect's body is not waited for", async (t) => {
  const { port } = await site(t, (_request, response) => response.end('here'));
  const endless = await listen(
    t,
    createServer((socket) => {
      socket.write(`HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:${port}/\r\nContent-Length: 10737418240\r\n\r\n`);
      const pour = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', pour).once('data', pour);
    }),
  );
  const stalled = await bareSite(t, (socket) =>
    socket.write(`HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:${port}/\r\nContent-Length: 9\r\n\r\n`),
  );
  const { fetch } = client(t);
  for (const from of [endless, stalled]) assert.equal((await fetch(`http://127.0.0.1:${from.port}/`)).body.toString(), 'here');
  await eventually('both are closed', () => endless.open() + stalled.open() === 0);
});
