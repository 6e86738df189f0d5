import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'node:test';
import { createEgressGate, createHttpClient, parseAllowList, type EgressFacts, type EgressPolicy } from './egress.ts';
import { Server as ProxyServer } from 'proxy-chain';
import { silentLog } from '../lib/log.ts';
import { browser, direct, eventually, listen, openTunnel, site } from './testing.ts';

const never = new AbortController().signal;
const asked = {
  method: 'GET',
  headers: {},
  body: null,
  cookies: [],
  maxBytes: 1e6,
  maxWireBytes: 1e6,
  redirectsMax: 0,
  timeoutMs: 5000,
} as const;
const bytesOf = ({ bytesIn, bytesOut }: Pick<EgressFacts, 'bytesIn' | 'bytesOut'>): [number, number] => [bytesIn, bytesOut];

/** Long enough for what is under way on loopback to have come. */
const aMoment = (): Promise<void> => wait(50);

test('tells of all ways together what each of them tells, of those that are closed too', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'.repeat(1000)));
  const gate = createEgressGate({ allow: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  assert.deepEqual(gate.facts(), { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0, waysOpen: 0 });
  const ways = ['one', 'two', 'three'].map((label) => gate.open(label));
  for (const [index, way] of ways.entries()) {
    way.apply(direct);
    const client = createHttpClient(way, { userAgent: 'test/1' });
    for (let turn = 0; turn <= index; turn += 1) await client.request({ ...asked, url: `http://127.0.0.1:${port}/` }, { signal: never });
    t.after(() => client.close());
  }
  const sum = (): number[] =>
    ways.map((way) => way.facts()).reduce((all, { bytesIn, bytesOut }) => [(all[0] ?? 0) + bytesIn, (all[1] ?? 0) + bytesOut], [0, 0]);
  assert.deepEqual([bytesOf(gate.facts()), gate.facts().waysOpen], [sum(), 3]);
  assert.ok(gate.facts().bytesIn > 6000);
  ways[0]?.close();
  ways[2]?.close();
  ways[2]?.close();
  assert.deepEqual([bytesOf(gate.facts()), gate.facts().waysOpen], [sum(), 1]);
  await aMoment();
  assert.deepEqual(bytesOf(gate.facts()), sum());
});

test('counts nothing more once a way is closed, whatever was under way in both directions', async (t) => {
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
  const before = from.way.facts();
  await eventually(() => from.way.facts().bytesIn > before.bytesIn + 1_000_000 && from.way.facts().bytesOut > 0, 'traffic both ways');
  const last = from.way.facts();
  from.way.close();
  const closed = from.way.facts();
  assert.ok(closed.bytesIn >= last.bytesIn && closed.bytesOut >= last.bytesOut, 'what was told before is never taken back');
  assert.ok(closed.bytesIn <= sent, `${closed.bytesIn} of ${sent} bytes`);
  await eventually(() => socket.closed && target.open() === 0, 'both sides are let go');
  await aMoment();
  assert.deepEqual(bytesOf(from.way.facts()), bytesOf(closed));
  assert.deepEqual(bytesOf(from.gate.facts()), bytesOf(closed));
});

test('does not dial for who had asked before the way was closed', async (t) => {
  const proxy = await listen(t, createServer());
  const answers = Promise.withResolvers<string[]>();
  const upstream = (host: string) => ({ url: `http://${host}:${proxy.port}`, ip: null, country: null, trusted: true });
  const policy = { ...direct, upstreams: [upstream('one.example'), upstream('two.example')] };
  const from = await browser(t, { policy, resolver: () => answers.promise });
  const rotating = from.way.rotate(never);
  const tunnel = await from.connect();
  tunnel.on('error', () => {}).write(`CONNECT 127.0.0.1:${proxy.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await aMoment();
  from.way.close();
  answers.resolve(['127.0.0.1']);
  assert.equal((await rotating).rotated, false);
  await aMoment();
  assert.deepEqual([proxy.arrived(), bytesOf(from.way.facts())], [0, [0, 0]]);
});

test('does not count what waits for a site that takes nothing more', async (t) => {
  const target = await listen(
    t,
    createServer((socket) => void socket.pause()),
  );
  const from = await browser(t);
  const { socket } = await openTunnel(from, `127.0.0.1:${target.port}`);
  const offered = 50_000_000;
  socket.write(Buffer.alloc(offered));
  let last = -1;
  await eventually(() => from.way.facts().bytesOut === last || ((last = from.way.facts().bytesOut), false), 'the site is full');
  assert.ok(last > 0 && last < offered, `${last} bytes`);
  from.way.close();
  assert.ok(from.way.facts().bytesOut >= last && from.way.facts().bytesOut < offered);
});

test('tells apart what passed a proxy that the operator has named', async (t) => {
  const { port } = await site(t, (_request, response) => response.end('x'.repeat(1000)));
  const proxy = new ProxyServer({ port: 0, host: '127.0.0.1' });
  await proxy.listen();
  t.after(() => proxy.close(true));
  const upstream = { url: `http://127.0.0.1:${proxy.port}`, ip: null, country: null };
  const gate = createEgressGate({ allow: parseAllowList('127.0.0.1'), log: silentLog });
  t.after(() => gate.close());
  const bytesBy = async (upstreams: EgressPolicy['upstreams']): Promise<EgressFacts> => {
    const way = gate.open('one');
    way.apply({ ...direct, upstreams });
    const client = createHttpClient(way, { userAgent: 'test/1' });
    await client.request({ ...asked, url: `http://127.0.0.1:${port}/` }, { signal: never });
    client.close();
    way.close();
    return way.facts();
  };
  const [none, own, operators] = [
    await bytesBy([]),
    await bytesBy([{ ...upstream, trusted: false }]),
    await bytesBy([{ ...upstream, trusted: true }]),
  ];
  for (const facts of [none, own]) assert.deepEqual([facts.proxiedIn, facts.proxiedOut], [0, 0]);
  assert.ok(operators.bytesIn > 1000);
  assert.deepEqual([operators.proxiedIn, operators.proxiedOut], [operators.bytesIn, operators.bytesOut]);
  const { bytesIn, proxiedIn, proxiedOut } = gate.facts();
  assert.deepEqual(
    [proxiedIn, proxiedOut, bytesIn],
    [operators.bytesIn, operators.bytesOut, none.bytesIn + own.bytesIn + operators.bytesIn],
  );
});
