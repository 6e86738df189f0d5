import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { assertPrompt } from '../../../../tests/yardstick.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, direct, get, listen, openTunnel, site } from '../../testing/gate.ts';

test('the egress gate counts the bytes of a transfer exactly, while it runs', async (t) => {
  const body = Buffer.alloc(3_000_000, 7);
  const held: Socket[] = [];
  const { port } = await listen(
    t,
    createServer({ allowHalfOpen: true }, (socket) => void held.push(socket)),
  );
  const from = await browser(t);
  const { socket } = await openTunnel(from, `127.0.0.1:${port}`);
  socket.resume().write('0123456789');
  await eventually('the site is connected', () => held.length === 1);
  held[0]?.write(body);
  await eventually('all bytes counted with the connection still open', () => from.route.stats().bytesIn === body.length);
  await eventually('bytes out counted', () => from.route.stats().bytesOut === 10);
  socket.destroy();
  await eventually('closed', () => from.route.stats().connectionsOpen === 0);
  assert.deepEqual([from.route.stats().bytesIn, from.route.stats().bytesOut], [body.length, 10]);
});

test('the egress gate cuts an endless body when the route closes, and leaves nothing open', async (t) => {
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
  from.route.close();
  await once(socket, 'close');
  await eventually('the site is closed', () => target.open() === 0);
  const late = await from.connect();
  await once(late.resume(), 'close');
  assert.equal(from.route.stats().connectionsOpen, 0);
});

test('the egress gate does not buffer a body that the browser does not read', async (t) => {
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
  await eventually('the body begins', () => poured > 0);
  let last = -1;
  await eventually('the site is held back', () => poured === last || ((last = poured), false));
  assert.ok(poured < 100_000_000, `${poured} bytes were taken`);
});

test('the egress gate disconnects a browser that dribbles its request', async (t) => {
  const from = await browser(t, { limits: { headTimeoutMs: 60 } });
  const socket = await from.connect();
  const dribble = setInterval(() => socket.write('G'), 10);
  // What was dribbled and not read anymore makes it a reset.
  await new Promise((resolve) => socket.resume().once('close', resolve));
  clearInterval(dribble);
  await eventually('dropped', () => from.route.stats().connectionsOpen === 0);
});

test('the egress gate stops connecting to a site after the timeout', async (t) => {
  const from = await browser(t, { limits: { connectTimeoutMs: 40 }, policy: { ...direct, upstreams: [await silentProxy(t)] } });
  const started = performance.now();
  const { reply } = await openTunnel(from, '127.0.0.1:9');
  assert.equal(reply.status, 504);
  assert.equal(reply.headers['x-berth-egress'], 'timeout');
  // Without the limit the proxy would be waited for fifteen seconds.
  assertPrompt(started, 10_000);
});

async function silentProxy(t: Parameters<typeof listen>[0]) {
  const { port } = await listen(t, createServer());
  return { url: `http://127.0.0.1:${port}`, ip: null, country: null, isTrusted: true };
}

test('the egress gate limits the connections of one browser', async (t) => {
  const from = await browser(t);
  const sockets = await Promise.all(Array.from({ length: 600 }, () => from.connect()));
  await eventually('88 are dropped', () => sockets.filter((socket) => socket.resume().closed).length === 88);
  assert.equal(from.route.stats().connectionsOpen, 512);
});

test('the egress gate closes a tunnel on which nothing moves', async (t) => {
  const target = await listen(t, createServer());
  const from = await browser(t, { limits: { idleTimeoutMs: 300 } });
  const { socket } = await openTunnel(from, `127.0.0.1:${target.port}`);
  if (!socket.closed) await once(socket.resume(), 'close');
  await eventually('the site is closed', () => target.open() === 0);
});

test('the egress gate closes the connection to a site when the browser disconnects before the response', async (t) => {
  const target = await site(t, () => {});
  const from = await browser(t);
  const socket = await from.connect();
  socket.write(get(`http://127.0.0.1:${target.port}/`));
  await eventually('the site is asked', () => target.open() === 1);
  socket.destroy();
  await eventually('the site is closed', () => target.open() === 0);
  assert.equal(from.route.lastRefusal('127.0.0.1', target.port), null);
});
