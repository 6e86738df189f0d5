import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get as httpGet, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { parseAllowList, createEgressGate } from '../egress.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, direct, exchange, fetchPlain, get, listen, openTunnel, site } from '../../testing/gate.ts';

test('the egress gate passes a plain request and its reply, and says who answered', async (t) => {
  const heard: { url?: string | undefined; host?: string | undefined; cookie?: string | undefined; proxy?: string | undefined }[] = [];
  const { port } = await site(t, (request, response) => {
    heard.push({
      url: request.url,
      host: request.headers.host,
      cookie: request.headers.cookie,
      proxy: request.headers['proxy-connection'] as string | undefined,
    });
    response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'] }).end('hello');
  });
  const from = await browser(t);
  const reply = await fetchPlain(from, `http://127.0.0.1:${port}/a?b=c`, 'Cookie: x=y\r\nProxy-Connection: keep-alive\r\n');
  assert.equal(reply.status, 201);
  assert.match(reply.body, /hello/);
  assert.deepEqual(heard, [{ url: '/a?b=c', host: `127.0.0.1:${port}`, cookie: 'x=y', proxy: undefined }]);
});

test('the egress gate gives a reply whole to a connection that takes its time', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('hello'));
  const from = await browser(t);
  const taken: string[] = [];
  const slow = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      taken.push(chunk.toString());
      setTimeout(done, 20);
    },
  });
  from.route.accept(slow);
  slow.push(get(`http://127.0.0.1:${port}/`));
  await eventually('the reply is whole', () => taken.join('').endsWith('\r\n\r\nhello'));
  assert.equal(slow.destroyed, false);
});

test('the egress gate keeps headers that come more than once, and ignores a Content-Length beside chunks', async (t) => {
  const raw =
    'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Hop: 1\r\nset-cookie: b=2\r\nConnection: x-hop\r\n' +
    'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n';
  const { port } = await listen(
    t,
    createServer((socket) => socket.once('data', () => socket.end(raw))),
  );
  const from = await browser(t);
  const [reply] = (await once(
    httpGet({ host: '127.0.0.1', port: from.port, path: `http://127.0.0.1:${port}/`, agent: new Agent() }),
    'response',
  )) as [IncomingMessage];
  let body = '';
  for await (const chunk of reply) body += String(chunk);
  assert.equal(body, 'whole');
  assert.deepEqual(
    [reply.headers['set-cookie'], reply.headers['x-hop'], reply.headers['content-length']],
    [['a=1', 'b=2'], undefined, undefined],
  );
});

test('the egress gate passes a request body with a length and one in chunks unchanged', async (t) => {
  const bodies: string[] = [];
  const { port } = await site(t, (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString())).once('end', () => response.end(String(bodies.push(body))));
  });
  const from = await browser(t);
  const socket = await from.connect();
  const head = `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n`;
  await exchange(socket, `${head}Content-Length: 5\r\n\r\nfirst`);
  const chunked = await from.connect();
  await exchange(chunked, `${head.replace('POST', 'GET')}Transfer-Encoding: chunked\r\n\r\n6\r\nsecond\r\n0\r\n\r\n`);
  assert.deepEqual(bodies, ['first', 'second']);
});

test('the egress gate refuses everything until a policy is applied', async (t) => {
  const target = await site(t, (_request, response) => response.end('no'));
  const from = await browser(t, { policy: null });
  const plain = await fetchPlain(from, `http://127.0.0.1:${target.port}/`);
  const { reply } = await openTunnel(from, `127.0.0.1:${target.port}`);
  assert.deepEqual([plain.status, reply.status, target.accepted()], [403, 403, 0]);
  assert.equal(plain.headers['x-berth-egress'], 'blocked_by_policy');
});

const spellings = [
  '2852039166', '0xA9FEA9FE', '0251.0376.0251.0376', '169.254.169.254', '127.1', '0', '127.0.0.1.', 'localhost', 'localhost.',
  'a.localhost', 'LOCALHOST', '①②⑦.⓪.⓪.①', '[::]', '[::1]', '[::ffff:a9fe:a9fe]', '[::ffff:127.0.0.1]', '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]', '[::a9fe:a9fe]', '[fd00:ec2::254]', '[fe80::1]', '100.100.100.200', '192.0.0.192', '168.63.129.16', '10.0.2.2',
  '192.168.1.1', '172.16.0.1', '224.0.0.251', '0177.0.0.1', '0x7f.1',
]; // prettier-ignore

test('the egress gate refuses every spelling of an internal address, by plain requests and by CONNECT', async (t) => {
  const from = await browser(t, { allowText: '' });
  for (const host of spellings) {
    const plain = await fetchPlain(from, `http://${Buffer.from(host).toString('latin1')}/`);
    assert.ok(plain.status === 403 || plain.status === 400, `${host}: plain ${plain.status}`);
    const { reply } = await openTunnel(from, `${Buffer.from(host).toString('latin1')}:443`);
    assert.ok(reply.status === 403 || reply.status === 400, `${host}: CONNECT ${reply.status}`);
  }
  assert.equal(from.route.stats().bytesOut, 0);
});

test('the egress gate refuses credentials, fragments and targets that are not hosts', async (t) => {
  const target = await site(t, (_request, response) => response.end('no'));
  const from = await browser(t, { allowText: '', resolver: async () => ['93.184.216.34'] });
  for (const url of [`http://ok@127.0.0.1:${target.port}/`, `http://127.0.0.1:${target.port}#@ok/`, `HTTP://127.0.0.1:${target.port}/`])
    assert.ok([400, 403].includes((await fetchPlain(from, url)).status), url);
  for (const url of ['/', '*', 'https://example.com/', 'ftp://example.com/', 'file:///etc/passwd', `ws://127.0.0.1:${target.port}/`])
    assert.equal((await fetchPlain(from, url)).status, 400, url);
  for (const authority of ['example.com', ':80', 'a@127.0.0.1:80', '127.0.0.1:0', '127.0.0.1:99999', '[::1', 'a/b:80'])
    assert.equal((await openTunnel(from, authority)).reply.status, 400, authority);
  assert.equal(target.accepted(), 0);
});

test('the egress gate refuses a name of which one address is internal', async (t) => {
  const target = await site(t, (_request, response) => response.end('no'));
  const from = await browser(t, { allowText: '', resolver: async () => ['93.184.216.34', '127.0.0.1'] });
  assert.equal((await openTunnel(from, `mixed.example:${target.port}`)).reply.status, 403);
  assert.equal(target.accepted(), 0);
  assert.equal(from.route.lastRefusal('MIXED.example.', target.port)?.reason, 'blocked_by_policy');
});

test('the egress gate dials the checked address when the name resolves to another one the next time', async (t) => {
  const good = await site(t, (_request, response) => response.end('good'));
  const answers = [['127.0.0.1'], ['127.9.9.9']];
  const from = await browser(t, { allowText: `127.0.0.1:${good.port}`, resolver: async () => answers.shift() ?? ['127.9.9.9'] });
  assert.equal((await fetchPlain(from, `http://rebind.example:${good.port}/`)).body, 'good');
});

test('the egress gate checks each request of a keep-alive connection on its own', async (t) => {
  const open = await site(t, (_request, response) => response.end('open'));
  const secret = await site(t, (_request, response) => response.end('secret'));
  const from = await browser(t, { allowText: `127.0.0.1:${open.port}` });
  const socket = await from.connect();
  assert.equal((await exchange(socket, get(`http://127.0.0.1:${open.port}/`))).body, 'open');
  assert.equal((await exchange(socket, get(`http://127.0.0.1:${secret.port}/`))).status, 403);
  assert.equal((await exchange(socket, get(`http://127.0.0.1:${open.port}/`))).body, 'open');
  assert.deepEqual([open.accepted(), secret.accepted()], [1, 0]);
});

test('the egress gate sends the host that was checked, not the one in the Host header', async (t) => {
  const hosts: (string | undefined)[] = [];
  const target = await site(t, (request, response) => {
    hosts.push(request.headers.host);
    response.end('x');
  });
  const from = await browser(t);
  await exchange(await from.connect(), `GET http://127.0.0.1:${target.port}/ HTTP/1.1\r\nHost: inside.example\r\n\r\n`);
  assert.deepEqual(hosts, [`127.0.0.1:${target.port}`]);
});

test('the egress gate refuses a redirect that leads to an internal address', async (t) => {
  const secret = await site(t, (_request, response) => response.end('secret'));
  const hop = await site(t, (_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${secret.port}/` }).end());
  const from = await browser(t, { allowText: `127.0.0.1:${hop.port}` });
  const first = await fetchPlain(from, `http://127.0.0.1:${hop.port}/`);
  assert.equal(first.status, 302);
  assert.equal((await fetchPlain(from, String(first.headers['location']))).status, 403);
  assert.equal(secret.accepted(), 0);
});

test('the egress gate removes its own header from what a plain site sends', async (t) => {
  const { port } = await site(t, (_request, response) => response.writeHead(200, { 'X-Berth-Egress': 'timeout' }).end('x'));
  const from = await browser(t);
  assert.equal((await fetchPlain(from, `http://127.0.0.1:${port}/`)).headers['x-berth-egress'], undefined);
});

test('the egress gate distinguishes an unknown name, a closed port, a reset and a silent site', async (t) => {
  const closing = createServer();
  const closed = await listen(t, closing);
  closing.close();
  const resets = await listen(
    t,
    createServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
  );
  const never = await browser(t, {
    resolver: (host) => (host === 'slow.example' ? new Promise(() => {}) : Promise.reject(new Error('ENOTFOUND'))),
    limits: { resolveTimeoutMs: 30 },
  });
  const ask = async (url: string): Promise<[number, string | undefined]> => {
    const reply = await fetchPlain(never, url);
    return [reply.status, reply.headers['x-berth-egress']];
  };
  assert.deepEqual(await ask('http://dead.example/'), [502, 'dns_failed']);
  assert.deepEqual(await ask('http://slow.example/'), [502, 'dns_failed']);
  assert.deepEqual(await ask(`http://127.0.0.1:${closed.port}/`), [502, 'connection_refused']);
  assert.deepEqual(await ask(`http://127.0.0.1:${resets.port}/`), [502, 'connection_reset']);
  assert.equal((await openTunnel(never, 'dead.example:443')).reply.headers['x-berth-egress'], 'dns_failed');
  const reasonOf = (host: string): string | undefined => never.route.lastRefusal(host, 80)?.reason;
  assert.deepEqual([reasonOf('slow.example'), reasonOf('other.example')], ['dns_failed', undefined]);
});

test('the egress gate forgets a refusal once the host is reached', async (t) => {
  let up = false;
  const { port } = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t, {
    resolver: () => (up ? Promise.resolve(['127.0.0.1']) : Promise.reject(new Error('down'))),
    limits: { failedNameTtlMs: 1 },
  });
  await fetchPlain(from, `http://flaky.example:${port}/`);
  assert.equal(from.route.lastRefusal('flaky.example', port)?.reason, 'dns_failed');
  up = true;
  // The failure is cached for a moment.
  while ((await fetchPlain(from, `http://flaky.example:${port}/`)).status !== 200);
  assert.equal(from.route.lastRefusal('flaky.example', port), null);
});

test('the egress gate lets only allowed domains through, for sub-resources as for pages', async (t) => {
  const { port, accepted } = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t, {
    resolver: async () => ['127.0.0.1'],
    policy: { ...direct, allowedDomains: ['shop.example', '*.cdn.example'] },
  });
  const status = async (host: string): Promise<number> => (await openTunnel(from, `${host}:${port}`)).reply.status;
  assert.deepEqual(await Promise.all(['shop.example', 'SHOP.example.', 'a.b.cdn.example'].map(status)), [200, 200, 200]);
  assert.deepEqual(
    await Promise.all(['www.shop.example', 'cdn.example', 'evilshop.example', '127.0.0.1'].map(status)),
    [403, 403, 403, 403],
  );
  await eventually('three connections at the site', () => accepted() === 3);
});

test('the egress gate refuses advertising hosts only when the policy blocks ads', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t, { resolver: async () => ['127.0.0.1'] });
  assert.equal((await openTunnel(from, `x.doubleclick.net:${port}`)).reply.status, 200);
  from.route.apply({ ...direct, blockAds: true });
  assert.equal((await openTunnel(from, `x.doubleclick.net:${port}`)).reply.status, 403);
  assert.equal((await openTunnel(from, `notdoubleclick.net:${port}`)).reply.status, 200);
});

test('the egress gate keeps the service itself out of reach inside an allowed network, unless its port is named', async (t) => {
  const self = await site(t, (_request, response) => response.end('admin'));
  const ownAddresses = () => [
    { host: '0.0.0.0', port: self.port },
    { host: 'berth.example', port: 443 },
  ];
  const resolver = async () => ['127.0.0.1'];
  const from = await browser(t, { ownAddresses, resolver });
  for (const host of ['127.0.0.1', 'localhost', 'alias.example', '127.9.9.9', '[::ffff:127.0.0.1]'])
    assert.equal((await openTunnel(from, `${host}:${self.port}`)).reply.status, 403, host);
  assert.equal((await openTunnel(from, 'berth.example:443')).reply.status, 403);
  assert.equal(self.accepted(), 0);
  const named = await browser(t, { ownAddresses, resolver, allowText: `127.0.0.1:${self.port}` });
  assert.equal((await openTunnel(named, `127.0.0.1:${self.port}`)).reply.status, 200);
});

test('the egress gate serves connections that are streams and no sockets', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('over a stream'));
  const gate = createEgressGate({ allowList: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  const route = gate.open('stream');
  route.apply(direct);
  let text = '';
  const stream = new Duplex({ read() {}, write: (chunk: Buffer, _encoding, done) => ((text += chunk.toString()), done()) });
  route.accept(stream);
  stream.push(get(`http://127.0.0.1:${port}/`));
  await eventually('the reply', () => text.includes('over a stream'));
  route.close();
  assert.ok(stream.destroyed);
});

test('the egress gate keeps the routes of two machines separate', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const gate = createEgressGate({ allowList: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  const [open, shut] = [gate.open('open'), gate.open('shut')];
  open.apply(direct);
  shut.apply({ ...direct, allowedDomains: ['other.example'] });
  const turns = [open, shut];
  const { port } = await listen(
    t,
    createServer({ allowHalfOpen: true }, (socket) => turns.shift()?.accept(socket)),
  );
  const statuses = [];
  for (let turn = 0; turn < 2; turn += 1) {
    const socket = connect(port, '127.0.0.1');
    statuses.push((await exchange(socket, get(`http://127.0.0.1:${target.port}/`))).status);
    socket.destroy();
  }
  assert.deepEqual(statuses, [200, 403]);
  assert.ok(open.stats().bytesIn > 0);
  assert.equal(shut.stats().bytesIn, 0);
});

test('the egress gate logs the details that the browser does not get', async (t) => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, info: (fields) => lines.push(JSON.stringify(fields)), child: () => log };
  const from = await browser(t, { log, allowText: '', resolver: async () => ['10.1.2.3'] });
  const reply = await fetchPlain(from, 'http://inside.example/');
  assert.doesNotMatch(reply.body, /10\.1|inside/);
  assert.match(lines.join(), /inside\.example.*blocked_by_policy.*10\.1\.2\.3/);
  from.route.apply({ ...direct, upstreams: [{ url: 'http://me:hush@127.0.0.1:1', ip: null, country: null, isTrusted: true }] });
  await fetchPlain(from, 'http://8.8.8.8/');
  assert.match(lines.join(), /proxy_error.*127\.0\.0\.1:1/);
  assert.doesNotMatch(lines.join(), /hush/);
  for (let turn = 0; turn < 100; turn += 1) await fetchPlain(from, 'http://10.0.0.1/');
  assert.ok(lines.length <= 60, 'a flood of refusals does not fill the log');
});

test('the egress gate reuses the connection to a site', async (t) => {
  const target = await site(t, (_request, response) => response.end('x'));
  const from = await browser(t);
  const socket = await from.connect();
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await exchange(socket, get(`http://127.0.0.1:${target.port}/`))).status, 200);
  assert.equal(target.accepted(), 1);
});

test('the egress gate retries when the site closes a reused connection', async (t) => {
  const target = await listen(
    t,
    createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx');
        socket.once('data', () => socket.resetAndDestroy());
      });
    }),
  );
  const from = await browser(t);
  const socket = await from.connect();
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await exchange(socket, get(`http://127.0.0.1:${target.port}/`))).status, 200);
  assert.equal(target.accepted(), 3);
});

test('the egress gate lets the browser see that a body was truncated', async (t) => {
  const target = await listen(
    t,
    createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))),
  );
  const from = await browser(t);
  const socket = await from.connect();
  const reply = await exchange(socket, get(`http://127.0.0.1:${target.port}/`));
  assert.equal(reply.headers['content-length'], '9');
  assert.equal(reply.body, 'half');
  await eventually('the connection ends with it', () => socket.resume().closed || socket.readableEnded);
});
