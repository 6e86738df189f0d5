import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { browser, direct, eventually, get, listen, openTunnel, site } from './testing.ts';

test('counts the bytes of a transfer exactly, while it runs', async (t) => {
  const body = Buffer.alloc(3_000_000, 7);
  const held: Socket[] = [];
  const { port } = await listen(
    t,
    createServer({ allowHalfOpen: true }, (socket) => void held.push(socket)),
  );
  const from = await browser(t);
  const { socket } = await openTunnel(from, `127.0.0.1:${port}`);
  socket.resume().write('0123456789');
  await eventually(() => held.length === 1, 'the site is connected');
  held[0]?.write(body);
  await eventually(() => from.way.facts().bytesIn === body.length, 'all bytes counted with the connection still open');
  await eventually(() => from.way.facts().bytesOut === 10, 'bytes out counted');
  socket.destroy();
  await eventually(() => from.way.facts().connectionsOpen === 0, 'closed');
  assert.deepEqual([from.way.facts().bytesIn, from.way.facts().bytesOut], [body.length, 10]);
});

test('cuts an endless body when the way closes, and leaves nothing open', async (t) => {
  const chunk = Buffer.alloc(65_536);
  const target = await listen(
    t,
    createServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n');
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', pour);
      pour();
    }),
  );
  const from = await browser(t);
  const socket = await from.connect();
  socket.write(get(`http://127.0.0.1:${target.port}/`));
  await once(socket, 'data');
  socket.resume();
  from.way.close();
  await once(socket, 'close');
  await eventually(() => target.open() === 0, 'the site is let go');
  const late = await from.connect();
  await once(late.resume(), 'close');
  assert.equal(from.way.facts().connectionsOpen, 0);
});

test('does not buffer a body that the browser does not read', async (t) => {
  let poured = 0;
  const target = await site(t, (_request, response) => {
    response.writeHead(200);
    const pour = (): void => {
      do poured += 1_000_000;
      while (poured < 2e9 && !response.destroyed && response.write(Buffer.alloc(1_000_000)));
    };
    response.on('drain', pour);
    pour();
  });
  const from = await browser(t);
  const socket = await from.connect();
  socket.pause().write(get(`http://127.0.0.1:${target.port}/`));
  await eventually(() => poured > 0, 'the body begins');
  let last = -1;
  await eventually(() => poured === last || ((last = poured), false), 'the site is held back');
  assert.ok(poured < 100_000_000, `${poured} bytes were taken`);
});

test('drops a browser that dribbles its request', async (t) => {
  const from = await browser(t, { limits: { headMs: 60 } });
  const socket = await from.connect();
  const dribble = setInterval(() => socket.write('G'), 10);
  await once(socket.resume(), 'close');
  clearInterval(dribble);
  await eventually(() => from.way.facts().connectionsOpen === 0, 'dropped');
});

test('gives up a site that does not answer the connection in time', async (t) => {
  const from = await browser(t, { limits: { connectMs: 40 }, policy: { ...direct, upstreams: [await silentProxy(t)] } });
  const started = performance.now();
  const { reply } = await openTunnel(from, '127.0.0.1:9');
  assert.equal(reply.status, 504);
  assert.equal(reply.headers['x-berth-egress'], 'timeout');
  assert.ok(performance.now() - started < 1500);
});

async function silentProxy(t: Parameters<typeof listen>[0]) {
  const { port } = await listen(t, createServer());
  return { url: `http://127.0.0.1:${port}`, ip: null, country: null, trusted: true };
}

test('bounds the connections of one browser', async (t) => {
  const from = await browser(t);
  const sockets = await Promise.all(Array.from({ length: 600 }, () => from.connect()));
  await eventually(() => sockets.filter((socket) => socket.resume().closed).length === 88, '88 are dropped');
  assert.equal(from.way.facts().connectionsOpen, 512);
});

test('drops a tunnel on which nothing moves', async (t) => {
  const target = await listen(t, createServer());
  const from = await browser(t, { limits: { idleMs: 50 } });
  const { socket } = await openTunnel(from, `127.0.0.1:${target.port}`);
  await once(socket.resume(), 'close');
  await eventually(() => target.open() === 0, 'the site is let go');
});

test('lets go of a site when the browser leaves before it has answered', async (t) => {
  const target = await site(t, () => {});
  const from = await browser(t);
  const socket = await from.connect();
  socket.write(get(`http://127.0.0.1:${target.port}/`));
  await eventually(() => target.open() === 1, 'the site is asked');
  socket.destroy();
  await eventually(() => target.open() === 0, 'the site is let go');
  assert.equal(from.way.lastRefusal('127.0.0.1'), null);
});
