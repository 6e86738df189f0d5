import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { createEgressGate, createHttpClient, parseAllowList, type EgressStats, type EgressPolicy } from '../egress.ts';
import { Server as ProxyServer } from 'proxy-chain';
import { silentLog } from '@berth/lib/log.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, direct, listen, openTunnel, site } from '../../testing/gate.ts';

const never = new AbortController().signal;
const request = {
  method: 'GET',
  headers: {},
  body: null,
  cookies: [],
  bodyBytesMax: 1e6,
  wireBytesMax: 1e6,
  redirectsMax: 0,
  timeoutMs: 30_000,
} as const;
const bytesOf = ({ bytesIn, bytesOut }: Pick<EgressStats, 'bytesIn' | 'bytesOut'>): [number, number] => [bytesIn, bytesOut];

/** Long enough for data on loopback to arrive. */
const aMoment = (): Promise<void> => sleep(50);

test('egress stats are the sum of all routes, closed ones included', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'.repeat(1000)));
  const gate = createEgressGate({ allowList: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  assert.deepEqual(gate.stats(), { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0, routesOpen: 0 });
  const routes = ['one', 'two', 'three'].map((label) => gate.open(label));
  for (const [index, route] of routes.entries()) {
    route.apply(direct);
    const client = createHttpClient(route, { userAgent: 'test/1' });
    for (let turn = 0; turn <= index; turn += 1) await client.request({ ...request, url: `http://127.0.0.1:${port}/` }, { signal: never });
    t.after(() => client.close());
  }
  const sum = (): number[] =>
    routes
      .map((route) => route.stats())
      .reduce((all, { bytesIn, bytesOut }) => [(all[0] ?? 0) + bytesIn, (all[1] ?? 0) + bytesOut], [0, 0]);
  assert.deepEqual([bytesOf(gate.stats()), gate.stats().routesOpen], [sum(), 3]);
  assert.ok(gate.stats().bytesIn > 6000);
  routes[0]?.close();
  routes[2]?.close();
  routes[2]?.close();
  assert.deepEqual([bytesOf(gate.stats()), gate.stats().routesOpen], [sum(), 1]);
  await aMoment();
  assert.deepEqual(bytesOf(gate.stats()), sum());
});

test('egress stats count nothing more once a route is closed during traffic in both directions', async (t) => {
  let sent = 0;
  const target = await listen(
    t,
    createServer((socket) => {
      const pour = (): void => {
        do sent += 65_536;
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      // It never reads, so that what comes for it piles up.
      socket.on('drain', pour);
      pour();
    }),
  );
  const from = await browser(t);
  const { socket } = await openTunnel(from, `127.0.0.1:${target.port}`);
  socket.write(Buffer.alloc(20_000_000));
  socket.resume();
  const before = from.route.stats();
  await eventually(
    'traffic in both directions',
    () => from.route.stats().bytesIn > before.bytesIn + 1_000_000 && from.route.stats().bytesOut > 0,
  );
  const last = from.route.stats();
  from.route.close();
  const closed = from.route.stats();
  assert.ok(closed.bytesIn >= last.bytesIn && closed.bytesOut >= last.bytesOut, 'counts never decrease');
  assert.ok(closed.bytesIn <= sent, `${closed.bytesIn} of ${sent} bytes`);
  await eventually('both sides are closed', () => socket.closed && target.open() === 0);
  await aMoment();
  assert.deepEqual(bytesOf(from.route.stats()), bytesOf(closed));
  assert.deepEqual(bytesOf(from.gate.stats()), bytesOf(closed));
});

test('requests that wait when their route is closed are not dialled', async (t) => {
  const proxy = await listen(t, createServer());
  const answers = Promise.withResolvers<string[]>();
  const upstream = (host: string) => ({ url: `http://${host}:${proxy.port}`, ip: null, country: null, isTrusted: true });
  const policy = { ...direct, upstreams: [upstream('one.example'), upstream('two.example')] };
  const from = await browser(t, { policy, resolver: () => answers.promise });
  const rotating = from.route.rotate(never);
  const tunnel = await from.connect();
  tunnel.on('error', () => {}).write(`CONNECT 127.0.0.1:${proxy.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await aMoment();
  from.route.close();
  answers.resolve(['127.0.0.1']);
  assert.equal((await rotating).rotated, false);
  await aMoment();
  assert.deepEqual([proxy.accepted(), bytesOf(from.route.stats())], [0, [0, 0]]);
});

test('egress stats do not count what waits for a site that reads nothing more', async (t) => {
  const target = await listen(
    t,
    createServer((socket) => void socket.pause()),
  );
  const from = await browser(t);
  const { socket } = await openTunnel(from, `127.0.0.1:${target.port}`);
  const offered = 50_000_000;
  socket.write(Buffer.alloc(offered));
  let last = 0;
  const isFull = (): boolean => {
    const before = last;
    last = from.route.stats().bytesOut;
    return last > 0 && last === before;
  };
  await eventually('the site is full', isFull);
  assert.ok(last < offered, `${last} bytes`);
  from.route.close();
  assert.ok(from.route.stats().bytesOut >= last && from.route.stats().bytesOut < offered);
});

test('egress stats count traffic through the operator’s proxies separately', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'.repeat(1000)));
  const proxy = new ProxyServer({ port: 0, host: '127.0.0.1' });
  await proxy.listen();
  t.after(() => proxy.close(true));
  const upstream = { url: `http://127.0.0.1:${proxy.port}`, ip: null, country: null };
  const gate = createEgressGate({ allowList: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  const bytesBy = async (upstreams: EgressPolicy['upstreams']): Promise<EgressStats> => {
    const route = gate.open('one');
    route.apply({ ...direct, upstreams });
    const client = createHttpClient(route, { userAgent: 'test/1' });
    await client.request({ ...request, url: `http://127.0.0.1:${port}/` }, { signal: never });
    client.close();
    route.close();
    return route.stats();
  };
  const [none, own, operators] = [
    await bytesBy([]),
    await bytesBy([{ ...upstream, isTrusted: false }]),
    await bytesBy([{ ...upstream, isTrusted: true }]),
  ];
  for (const stats of [none, own]) assert.deepEqual([stats.proxiedIn, stats.proxiedOut], [0, 0]);
  assert.ok(operators.bytesIn > 1000);
  assert.deepEqual([operators.proxiedIn, operators.proxiedOut], [operators.bytesIn, operators.bytesOut]);
  const { bytesIn, proxiedIn, proxiedOut } = gate.stats();
  assert.deepEqual(
    [proxiedIn, proxiedOut, bytesIn],
    [operators.bytesIn, operators.bytesOut, none.bytesIn + own.bytesIn + operators.bytesIn],
  );
});
