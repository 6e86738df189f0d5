import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { duplexPair, pipeline } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { socketPair } from '@berth/lib/socket-pair.ts';
import type { EgressRoute, OpenTunnel } from '../egress.ts';
import { browser, direct, fetchPlain, listen, openTunnel, site, type Browser } from '../../testing/gate.ts';

/** The other end of a tunnel: what `berth tunnel` does, to whatever port it was given. */
interface FarEnd {
  tunnel: OpenTunnel;
  authorities: string[];
  /** Ends as a killed program does. */
  kill: () => void;
  http2: Http2Server;
}

async function tunnelTo(t: TestContext, route: EgressRoute, { port, to = port }: { port: number; to?: number }): Promise<FarEnd> {
  // No socket of the system, as a WebSocket is none.
  const [near, outer] = duplexPair();
  const [far, inner] = await socketPair();
  outer.once('close', () => inner.destroy());
  inner.on('error', () => {}).once('close', () => outer.destroy());
  outer.pipe(inner).pipe(outer);
  const http2 = createHttp2Server();
  const authorities: string[] = [];
  http2.on('stream', (stream, headers) => {
    authorities.push(headers[':authority'] ?? '');
    stream.on('error', () => {});
    const socket = connect(to, '127.0.0.1');
    socket.once('error', () => stream.headersSent || stream.respond({ ':status': 502 }, { endStream: true }));
    socket.once('connect', () => {
      stream.respond({ ':status': 200 });
      pipeline(stream, socket, stream, () => {});
    });
  });
  http2.emit('connection', far);
  const tunnel = await route.openTunnel(port, near);
  tunnel.onClose(() => outer.destroy());
  t.after(() => tunnel.close());
  return { tunnel, authorities, http2, kill: () => void outer.destroy() };
}

/** A gate whose operator allows nothing but public addresses. */
const strict = (t: TestContext, options: Parameters<typeof browser>[1] = {}): Promise<Browser> => browser(t, { allowText: '', ...options });

test('a tunnel leads every name of loopback at its port to the other end, and no other port', async (t) => {
  const { port } = await site(t, (request, response) => response.end(`for ${request.headers.host}`));
  const other = await site(t, (_request, response) => response.end('private'));
  const from = await strict(t);
  const { authorities } = await tunnelTo(t, from.route, { port });
  for (const host of ['localhost', 'app.localhost', '127.0.0.1', '[::1]']) {
    const reply = await fetchPlain(from, `http://${host}:${port}/`);
    assert.deepEqual([reply.status, reply.body], [200, `for ${host}:${port}`], host);
  }
  assert.deepEqual(authorities, [`localhost:${port}`, `app.localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]);
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    assert.equal((await fetchPlain(from, `http://${host}:${other.port}/`)).status, 403, host);
    assert.equal((await openTunnel(from, `${host}:${other.port}`)).reply.status, 403, host);
  }
  assert.equal((await fetchPlain(from, `http://169.254.169.254:${port}/`)).status, 403);
  assert.equal(other.accepted(), 0);
});

test('a tunnel of one machine is not there for another', async (t) => {
  const { port, accepted } = await site(t, (_request, response) => response.end('mine'));
  const from = await strict(t);
  await tunnelTo(t, from.route, { port });
  const stranger = from.gate.open('stranger');
  stranger.apply(direct);
  const server = createServer((connection) => stranger.accept(connection));
  const { port: door } = await listen(t, server);
  assert.equal((await fetchPlain({ ...from, connect: () => opened(door) }, `http://localhost:${port}/`)).status, 403);
  assert.equal(accepted(), 0);
});

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('a tunnel is refused by `allowed_domains` that do not name localhost, and taken by those that do', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('mine'));
  for (const [allowedDomains, status] of [
    [['shop.example'], 403],
    [['localhost'], 200],
  ] as const) {
    const from = await strict(t, { policy: { ...direct, allowedDomains } });
    await tunnelTo(t, from.route, { port });
    assert.equal((await fetchPlain(from, `http://localhost:${port}/`)).status, status);
  }
});

test('a tunnel passes 50 MB in each direction unchanged, and counts them as the machine’s', async (t) => {
  const bytes = 50 * 1024 * 1024;
  const sent = randomBytes(bytes);
  const digest = createHash('sha256').update(sent).digest('hex');
  const { port } = await site(t, (request, response) => {
    const hash = createHash('sha256');
    request
      .on('data', (chunk: Buffer) => hash.update(chunk))
      .once('end', () => {
        response.setHeader('x-received', hash.digest('hex'));
        response.end(sent);
      });
  });
  const from = await strict(t);
  await tunnelTo(t, from.route, { port });
  const outgoing = httpRequest({ host: '127.0.0.1', port: from.port, method: 'POST', path: `http://localhost:${port}/`, agent: false });
  outgoing.end(sent);
  const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  for await (const chunk of reply) hash.update(chunk as Buffer);
  assert.deepEqual([reply.headers['x-received'], hash.digest('hex')], [digest, digest]);
  const { bytesIn, bytesOut, proxiedIn } = from.route.stats();
  for (const counted of [bytesIn, bytesOut]) assert.ok(counted >= bytes && counted < bytes + 10_000, `${counted} bytes`);
  assert.equal(proxiedIn, 0);
});

test('a tunnel holds a bounded part for a browser that does not read, and serves others meanwhile', async (t) => {
  let written = 0;
  const chunk = Buffer.alloc(64 * 1024);
  const endless = createServer((socket) => {
    const write = (): void => {
      while (!socket.destroyed) {
        written += chunk.length;
        if (!socket.write(chunk)) break;
      }
    };
    socket.on('error', () => {}).on('drain', write);
    socket.once('data', () => (socket.write('HTTP/1.1 200 OK\r\n\r\n'), write()));
  });
  const { port } = await listen(t, endless);
  const quick = await site(t, (_request, response) => response.end('quick'));
  const from = await strict(t);
  await tunnelTo(t, from.route, { port });
  await tunnelTo(t, from.route, { port: quick.port });
  const { socket } = await openTunnel(from, `localhost:${port}`);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\n\r\n');
  let before = -1;
  // Stands still: all buffers of both ends and of the kernel are full.
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(written > 0 && written < 32 * 1024 * 1024, `${written} bytes were taken from the site`);
  assert.equal((await fetchPlain(from, `http://localhost:${quick.port}/`)).body, 'quick');
});

test('a tunnel has a limit of connections, and says so', async (t) => {
  const { port, open } = await listen(t, createServer());
  const from = await strict(t);
  await tunnelTo(t, from.route, { port });
  const all = await Promise.all(Array.from({ length: 128 }, () => openTunnel(from, `localhost:${port}`)));
  assert.ok(all.every(({ reply }) => reply.status === 200));
  assert.equal((await openTunnel(from, `localhost:${port}`)).reply.status, 502);
  assert.match(from.route.lastRefusal('localhost', port)?.message ?? '', /128 connections/);
  for (const { socket } of all) socket.destroy();
  await eventually('the site sees the connections close', () => open() === 0);
  assert.equal((await openTunnel(from, `localhost:${port}`)).reply.status, 200);
});

test('a tunnel whose other end reaches nothing says what is missing', async (t) => {
  const { port } = await listen(t, createServer());
  const from = await strict(t);
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port: to } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  await tunnelTo(t, from.route, { port, to });
  assert.equal((await fetchPlain(from, `http://localhost:${port}/`)).status, 502);
  const refusal = from.route.lastRefusal('localhost', port);
  assert.equal(refusal?.netError, 'net::ERR_CONNECTION_REFUSED');
  assert.match(refusal?.message ?? '', /nothing accepts connections on port \d+ of the computer that opened the tunnel/);
});

test('a tunnel ends with its other end, with its route and with one to the same port, and its connections with it', async (t) => {
  const { port, open } = await listen(t, createServer());
  const from = await strict(t);
  const ends: ((far: FarEnd) => void)[] = [
    (far) => far.kill(),
    (far) => far.tunnel.close(),
    () => tunnelTo(t, from.route, { port }),
    () => from.route.close(),
  ];
  for (const end of ends) {
    const far = await tunnelTo(t, from.route, { port });
    const { socket, reply } = await openTunnel(from, `localhost:${port}`);
    assert.equal(reply.status, 200);
    const closed = Promise.all([once(socket, 'close'), new Promise<void>((resolve) => far.tunnel.onClose(resolve))]);
    end(far);
    await closed;
    await eventually('the site sees the connection close', () => open() === 0);
    assert.equal(far.tunnel.isOpen, false);
  }
});

test('of tunnels to one port that are opened at the same time the last one stays', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('mine'));
  const from = await strict(t);
  for (let round = 0; round < 10; round += 1) {
    const [first, last] = await Promise.all([tunnelTo(t, from.route, { port }), tunnelTo(t, from.route, { port })]);
    await eventually('the first is closed', () => !first.tunnel.isOpen);
    assert.equal((await fetchPlain(from, `http://localhost:${port}/`)).body, 'mine');
    assert.deepEqual([first.authorities.length, last.authorities.length], [0, 1]);
  }
});

test('a tunnel survives another end that speaks no HTTP/2', async (t) => {
  const from = await strict(t);
  const [near, far] = duplexPair();
  const tunnel = await from.route.openTunnel(3000, near);
  const closed = new Promise<void>((resolve) => tunnel.onClose(resolve));
  far.write(randomBytes(100_000));
  far.resume();
  await closed;
  assert.equal((await fetchPlain(from, 'http://localhost:3000/')).status, 403);
});
