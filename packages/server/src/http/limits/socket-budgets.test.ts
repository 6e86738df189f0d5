/** What clients of WebSockets can make the service hold, and what of its time they can take. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { PathId, endpoint } from '@berth/contract';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { yardsticksOf } from '../../../../../tests/yardstick.ts';
import { ReadingShare } from '../body/reading-share.ts';
import { auth, serve } from '../../../testing/server.ts';
import { defaultLimits, type Http } from '../server/server.ts';
import type { SocketLimits } from './socket-budgets.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const limits: SocketLimits = {
  unread: { socket: 4 * mebibyte, session: 6 * mebibyte, worker: 10 * mebibyte },
  unfinished: { session: 4 * mebibyte, worker: 6 * mebibyte },
};

const socket = endpoint({
  id: 'socket',
  method: 'GET',
  path: '/s/{session_id}',
  tag: 'Connect',
  summary: 'A test.',
  auth: 'connect',
  params: z.object({ session_id: PathId }),
  status: 101,
  replyKind: 'websocket',
  errors: [],
});

/** Answers `send N` with messages of 64 KiB until it has no room, and echoes the rest. */
const mount = (http: Http): void =>
  http.onSocket(socket, async (_call, { accept, hasRoom }) => {
    const webSocket = await accept();
    const piece = Buffer.alloc(64 * kibibyte);
    webSocket.on('message', (data) => {
      const [, count] = /^send (\d+)$/.exec((data as Buffer).toString('latin1', 0, 20)) ?? [];
      if (count === undefined) webSocket.send(data);
      for (let n = 0; n < Number(count ?? 0) && hasRoom(webSocket); n += 1) webSocket.send(piece);
    });
  });

const start = async (t: TestContext): Promise<{ port: number; url: string }> => {
  const { port } = await serve(t, mount, { limits: { ...defaultLimits, sockets: limits } });
  return { port, url: `ws://127.0.0.1:${port}/s` };
};

/** A connection that has shaken hands and speaks frames as a test writes them. */
async function raw(t: TestContext, port: number, session = 'a'): Promise<Socket> {
  const connection = connect(port, '127.0.0.1');
  t.after(() => connection.destroy());
  connection.on('error', () => {});
  connection.write(
    `GET /s/${session} HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  await once(connection, 'data');
  return connection;
}

/** The head of a client's text message, masked with zeros. */
function headOf(bytes: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(bytes), 2);
  return head;
}

/** The code and reason of the close frame that comes. */
async function closeOf(connection: Socket): Promise<string> {
  for await (const chunk of connection as AsyncIterable<Buffer>)
    if (chunk[0] === 0x88) return `${chunk.readUInt16BE(2)} ${chunk.toString('utf8', 4)}`;
  return 'closed without a code';
}

async function open(t: TestContext, url: string, session: string): Promise<{ webSocket: WebSocket; echo: () => Promise<void> }> {
  const webSocket = new WebSocket(`${url}/${session}`, { headers: auth });
  t.after(() => webSocket.terminate());
  await once(webSocket, 'open');
  const echo = async (): Promise<void> => {
    webSocket.send('hello');
    const [data] = (await once(webSocket, 'message')) as [Buffer];
    assert.equal(data.toString(), 'hello');
  };
  return { webSocket, echo };
}

test('a WebSocket message over 80 MiB is refused at its head', async (t) => {
  const { port } = await start(t);
  const connection = await raw(t, port);
  connection.write(headOf(80 * mebibyte + 1));
  assert.equal(await closeOf(connection), '1009 ');
});

test('unfinished messages of a session have one limit: its largest socket is closed', async (t) => {
  const { port, url } = await start(t);
  const bystander = await open(t, url, 'a');
  const [first, second] = [await raw(t, port), await raw(t, port)];
  const closed = closeOf(first);
  first.write(Buffer.concat([headOf(50 * mebibyte), Buffer.alloc(2.5 * mebibyte)]));
  second.write(Buffer.concat([headOf(50 * mebibyte), Buffer.alloc(2 * mebibyte)]));
  assert.equal(await closed, '4009 limit');
  await bystander.echo();
  assert.equal(second.closed, false);
});

test('unfinished messages of the worker have one limit, and finished ones do not count', async (t) => {
  const { port } = await start(t);
  const fine = await raw(t, port, 'z');
  for (let n = 0; n < 10; n += 1) {
    const answered = once(fine, 'data');
    fine.write(Buffer.concat([headOf(mebibyte), Buffer.alloc(mebibyte)]));
    await answered;
  }
  fine.resume();
  const sockets = await Promise.all(['a', 'b', 'c'].map((session) => raw(t, port, session)));
  const closed = Promise.race(sockets.map(closeOf));
  for (const connection of sockets) connection.write(Buffer.concat([headOf(50 * mebibyte), Buffer.alloc(2.5 * mebibyte)]));
  assert.equal(await closed, '4009 limit');
  assert.equal(fine.closed, false);
});

test('what a WebSocket client leaves unread is bounded, and its session’s other sockets stay', async (t) => {
  const { url } = await start(t);
  const [lazy, other] = [await open(t, url, 'a'), await open(t, url, 'a')];
  lazy.webSocket.pause();
  lazy.webSocket.send('send 1000');
  await other.echo();
  lazy.webSocket.resume();
  const [code, reason] = (await once(lazy.webSocket, 'close')) as [number, Buffer];
  assert.equal(`${code} ${reason.toString()}`, '4009 limit');
  await other.echo();
});

test('what sessions leave unread is bounded for the worker: the largest is closed', async (t) => {
  const { url } = await start(t);
  const sockets = await Promise.all(['a', 'b', 'c', 'd'].map((session) => open(t, url, session)));
  const closed = Promise.race(sockets.map(({ webSocket }) => once(webSocket, 'close') as Promise<[number, Buffer]>));
  // The kernel takes some megabytes of each beside what the service holds.
  for (const { webSocket } of sockets) {
    webSocket.pause();
    webSocket.send('send 60');
    webSocket.send('send 60');
  }
  const small = await open(t, url, 'e');
  await small.echo();
  for (const { webSocket } of sockets) webSocket.resume();
  const [code, reason] = await closed;
  assert.equal(`${code} ${reason.toString()}`, '4009 limit');
  await small.echo();
});

test('WebSocket pings are answered, but a flood of them with one pong a turn', async (t) => {
  const { port } = await start(t);
  const connection = await raw(t, port);
  const pings = 20_000;
  const ping = Buffer.from([0x89, 0x81, 0, 0, 0, 0, 7]);
  const last = Buffer.from([0x89, 0x81, 0, 0, 0, 0, 9]);
  connection.write(Buffer.concat([...Array.from({ length: pings }, () => ping), last]));
  let received = Buffer.alloc(0);
  for await (const chunk of connection as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    if (received.at(-1) === 9) break;
  }
  assert.ok(received.length / 3 < pings / 50, `${received.length / 3} pongs`);
});

test('WebSockets that flood take turns with everybody else', async (t) => {
  const { port, url } = await start(t);
  const victim = await open(t, url, 'b');
  // Pongs cost the client least. Writers are in threads, so that only the service shares this one.
  const source = `
    const { workerData: { port, handshake, frames } } = require('node:worker_threads');
    const connection = require('node:net').connect(port, '127.0.0.1');
    connection.write(handshake);
    connection.on('error', () => {}).resume();
    const pour = () => { while (!connection.destroyed && connection.write(frames)); };
    connection.once('data', () => (pour(), connection.on('drain', pour)));`;
  const handshake =
    `GET /s/a HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
  const frames = Buffer.alloc(6 * 100_000);
  for (let at = 0; at < frames.length; at += 6) frames.set([0x8a, 0x80], at);
  const floods = [1, 2, 3, 4].map(() => new Worker(source, { eval: true, workerData: { port, handshake, frames } }));
  t.after(() => Promise.all(floods.map((flood) => flood.terminate())));
  // What others got of this thread's time; what they got of the host's, as by the writers, says nothing of turns.
  let longest = 0;
  for (let echoes = 0; echoes < 100; echoes += 1) longest = Math.max(longest, await yardsticksOf(() => victim.echo()));
  assert.ok(longest < 50, `a message took ${longest} yardsticks`);
});

test('large messages of an owner are read at a limited rate, small ones as they come', async () => {
  const share = new ReadingShare();
  const read = (messageBytes: number, bytes = 65_536): Promise<void> | null => {
    share.begin();
    return share.end(bytes, messageBytes);
  };
  /** A pause is one for all, and a next turn one for each. All of this is one turn, however long that takes. */
  const isPaused = (messageBytes: number): boolean => {
    const pause = read(messageBytes);
    return pause !== null && pause === read(messageBytes, 0);
  };
  for (let n = 0; n < 100; n += 1) assert.equal(isPaused(mebibyte), false);
  let bytes = 0;
  while (!isPaused(2 * mebibyte)) bytes += 65_536;
  assert.equal(bytes, mebibyte - 65_536);
  const pause = read(2 * mebibyte);
  assert.equal(isPaused(2 * mebibyte), true, 'another socket, too');
  assert.notEqual(read(65_536), pause, 'a small message does not wait for it');
  await pause;
  assert.equal(isPaused(2 * mebibyte), false, 'and it goes on');
});
