import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable, type Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { Egress } from '../../../../guest/src/agent/egress.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, exchange, fetchPlain, get, listen, openTunnel, site, type Browser } from '@berth/egress/testing/gate.ts';
import { newLink } from '../../../testing/guest/link.ts';

/** A browser whose connections go through a machine's egress port. */
async function browserInside(t: TestContext): Promise<Browser & { connections: Duplex[] }> {
  const outside = await browser(t);
  const connections: Duplex[] = [];
  const { egress, close } = await newLink({
    acceptEgress: (connection) => {
      connections.push(connection);
      outside.route.accept(connection);
    },
  });
  const inside = new Egress(0);
  inside.attachHost(egress);
  await inside.open();
  await eventually('the proxy listens', () => inside.port !== 0);
  t.after(() => {
    inside.close();
    close();
  });
  const open = async (): Promise<Socket> => {
    const socket = connect(inside.port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return { ...outside, connect: open, port: inside.port, connections };
}

/** A plain TCP site. */
const rawSite = (t: TestContext, handle: (socket: Socket) => void): ReturnType<typeof listen> =>
  listen(t, createTcpServer({ allowHalfOpen: true }, handle));

describe('connections out of a virtual machine', () => {
  it('connections of a virtual machine go through the gate, one after the other on one connection, and in tunnels', async (t) => {
    const from = await browserInside(t);
    const { port } = await site(t, (request, response) => response.end(`asked for ${request.url}`));
    const socket = await from.connect();
    for (const path of ['/one', '/two']) {
      const reply = await exchange(socket, get(`http://127.0.0.1:${port}${path}`));
      assert.equal(reply.body, `asked for ${path}`);
    }
    const tunnel = await openTunnel(from, `127.0.0.1:${port}`);
    assert.equal(tunnel.reply.status, 200);
    assert.equal((await exchange(tunnel.socket, 'GET /three HTTP/1.1\r\nHost: x\r\n\r\n')).body, 'asked for /three');
    assert.equal(from.connections.length, 2);
  });

  it('connections of a virtual machine are refused with the gate’s own words', async (t) => {
    const from = await browserInside(t);
    const refused = await fetchPlain(from, 'http://169.254.169.254/latest/meta-data/');
    assert.equal(refused.status, 403);
    assert.equal(refused.headers['x-berth-egress'], 'blocked_by_policy');
    const { reply, socket } = await openTunnel(from, '10.0.0.1:443');
    assert.equal(reply.status, 403);
    if (!socket.closed) await once(socket.resume(), 'close');
    await eventually('nothing of them is left', () => from.connections.every(({ closed }) => closed));
  });

  it('connections of a virtual machine end with the site, and have all that it said', async (t) => {
    const from = await browserInside(t);
    const cuts = await rawSite(t, (socket) => socket.once('data', () => socket.write('half of it', () => socket.resetAndDestroy())));
    const ends = await rawSite(t, (socket) => socket.once('data', () => socket.end('all of it')));
    for (const { port } of [cuts, ends]) {
      const { socket } = await openTunnel(from, `127.0.0.1:${port}`);
      let read = '';
      socket.on('data', (chunk: Buffer) => (read += chunk.toString())).write('go on');
      // A site that cuts off is heard of as such, which is an error of the socket.
      await new Promise((resolve) => socket.once('close', resolve));
      if (port === ends.port) assert.equal(read, 'all of it');
    }
    await eventually('the sites are disconnected', () => cuts.open() + ends.open() === 0);
    await eventually('nothing of them is left', () => from.connections.every(({ closed }) => closed));
  });

  it('connections of a virtual machine disconnect from the site when the browser does', async (t) => {
    const from = await browserInside(t);
    const silent = await rawSite(t, (socket) => void socket.resume().once('end', () => socket.end()));
    const { socket } = await openTunnel(from, `127.0.0.1:${silent.port}`);
    assert.equal(silent.open(), 1);
    socket.resetAndDestroy();
    await eventually('the site is disconnected', () => silent.open() === 0);
    await eventually('nothing of it is left', () => from.connections.every(({ closed }) => closed));
  });

  it('connections of a virtual machine carry megabytes both ways, no faster than they are read', async (t) => {
    const from = await browserInside(t);
    const bytes = 48 * 1024 ** 2;
    const block = randomBytes(64 * 1024);
    let sent = 0;
    const words = function* (): Generator<Buffer> {
      for (; sent < bytes; sent += block.length) yield block;
    };
    const speaks = await site(
      t,
      (_request, response) => void Readable.from(words()).pipe(response.writeHead(200, { 'content-length': bytes })),
    );
    const reader = await from.connect();
    reader.pause();
    reader.write(get(`http://127.0.0.1:${speaks.port}/`));
    await stands(() => sent);
    assert.ok(sent < bytes / 2, `${sent} bytes were sent to somebody who does not read`);
    let read = 0;
    reader.on('data', (chunk: Buffer) => (read += chunk.length)).resume();
    await eventually('all is read', () => read >= bytes);

    let heard: Socket | undefined;
    const listens = await rawSite(t, (socket) => (heard = socket.pause()));
    const { socket: writer } = await openTunnel(from, `127.0.0.1:${listens.port}`);
    const before = process.memoryUsage.rss();
    for (let written = 0; written < bytes; written += block.length) writer.write(block);
    await stands(() => writer.bytesWritten - writer.writableLength);
    assert.ok(writer.writableLength > bytes / 2, `${writer.writableLength} bytes wait in the browser`);
    assert.ok(process.memoryUsage.rss() - before < bytes * 2);
    let received = 0;
    heard?.on('data', (chunk: Buffer) => (received += chunk.length)).resume();
    await eventually('all has come', () => received === bytes);
  });
});

/** Waits until a number stops changing. */
async function stands(value: () => number): Promise<void> {
  let [last, since] = [value(), performance.now()];
  await eventually('it stands still', () => {
    if (value() !== last) [last, since] = [value(), performance.now()];
    return performance.now() - since > 200;
  });
}
