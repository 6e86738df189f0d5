import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createConnection, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Egress, EgressUnavailableError } from './egress.ts';
import { AgentUnderTest, until } from '../../testing/agent.ts';

interface ProxiedStream {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
}

describe('the egress of a machine', () => {
  let agent: AgentUnderTest;
  let egress: Egress;
  let gate: ServerHttp2Session;
  let proxied: ProxiedStream[];
  beforeEach(async () => {
    agent = new AgentUnderTest();
    egress = agent.egress;
    proxied = [];
    gate = await connectGate();
    await until(() => egress.port > 0, 20_000);
  });
  afterEach(async () => {
    gate.destroy();
    await agent.close();
  });

  const connectGate = (): Promise<ServerHttp2Session> =>
    agent.connectGate((stream, headers) => {
      stream.on('error', () => {});
      proxied.push({ stream, headers });
    });
  const connectTo = (port: number): Socket => createConnection({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
  /** A connection of the browser, and what the gate has of it. */
  const open = async (): Promise<{ connection: Socket; stream: ServerHttp2Stream }> => {
    const seen = proxied.length;
    const connection = connectTo(egress.port);
    await until(() => proxied.length > seen, 20_000);
    const stream = proxied[seen]?.stream;
    assert.ok(stream);
    stream.respond({ ':status': 200 });
    return { connection, stream };
  };
  const endOf = async (connection: Socket): Promise<string> => {
    const [error] = (await Promise.race([once(connection, 'error'), once(connection, 'end').then(() => [])])) as [NodeJS.ErrnoException?];
    return error?.code ?? 'end';
  };

  it('the egress of a machine is closed until the host opens it', async () => {
    assert.equal(await endOf(connectTo(egress.port)), 'ECONNRESET');
    assert.equal(proxied.length, 0);
    await egress.open();
    await open();
  });

  it('the egress of a machine cannot be opened without a host', async () => {
    const lonely = new Egress(0);
    await assert.rejects(lonely.open(), EgressUnavailableError);
    lonely.close();
  });

  it('the egress of a machine forwards both directions, and the end of each on its own', async () => {
    await egress.open();
    const { connection, stream } = await open();
    const { ':method': method, ':authority': authority } = proxied[0]?.headers ?? {};
    assert.deepEqual([method, authority], ['CONNECT', 'berth.egress']);
    const asked = text(stream);
    connection.end('CONNECT example.com:443');
    assert.equal(await asked, 'CONNECT example.com:443');
    const answered = buffer(connection);
    const large = Buffer.alloc(5_000_000, 'berth');
    stream.end(large);
    assert.ok((await answered).equals(large));
    await until(() => stream.closed, 20_000);
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });

  it('the egress of a machine lets the host end first', async () => {
    await egress.open();
    const { connection, stream } = await open();
    const heard = text(stream);
    stream.end('bye');
    assert.equal(await endOf(connection.resume()), 'end');
    connection.end('still here');
    assert.equal(await heard, 'still here');
  });

  it('the egress of a machine does not let a part pass for the whole', async () => {
    await egress.open();
    const cutByGate = await open();
    cutByGate.stream.write('a part');
    await once(cutByGate.connection, 'data');
    cutByGate.stream.destroy(new Error('cut off'));
    assert.equal(await endOf(cutByGate.connection.resume()), 'ECONNRESET');

    const cutByBrowser = await open();
    let hasEnded = false;
    cutByBrowser.stream.once('end', () => (hasEnded = !cutByBrowser.stream.destroyed));
    cutByBrowser.connection.write('a part');
    await once(cutByBrowser.stream, 'data');
    cutByBrowser.connection.resetAndDestroy();
    await until(() => cutByBrowser.stream.destroyed, 20_000);
    assert.equal(cutByBrowser.stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
    assert.ok(!hasEnded);
  });

  it('the egress of a machine resets a connection that the gate refuses', async () => {
    await egress.open();
    const connection = connectTo(egress.port);
    await until(() => proxied.length === 1, 20_000);
    proxied[0]?.stream.respond({ ':status': 403 }, { endStream: true });
    assert.equal(await endOf(connection.resume()), 'ECONNRESET');
  });

  it('the egress of a machine applies backpressure when the gate does not read', async () => {
    await egress.open();
    const { connection, stream } = await open();
    const pieces = 400;
    for (let piece = 0; piece < pieces; piece += 1) connection.write(Buffer.alloc(100_000));
    // Sockets of this host hold some megabytes; the streams no more than their windows.
    await until(() => connection.bytesWritten - connection.writableLength > 1_000_000, 20_000);
    let before = -1;
    const taken = (): number => connection.bytesWritten - connection.writableLength;
    await until(async () => {
      if (taken() === before) return true;
      before = taken();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return false;
    }, 20_000);
    assert.ok(taken() < (pieces / 2) * 100_000, `${taken()} bytes were accepted that nobody reads`);
    let heard = 0;
    stream.on('data', (chunk: Buffer) => (heard += chunk.length));
    await until(() => heard === pieces * 100_000, 20_000);
  });

  it('the egress of a machine holds 256 connections at once', async () => {
    await egress.open();
    const connections = Array.from({ length: 256 }, () => connectTo(egress.port));
    await until(() => proxied.length === 256, 20_000);
    await endOf(connectTo(egress.port).resume());
    assert.equal(proxied.length, 256);
    const ended = Promise.race(connections.map(endOf));
    proxied[0]?.stream.destroy(new Error('cut off'));
    await ended;
    connectTo(egress.port);
    await until(() => proxied.length === 257, 20_000);
  });

  it('the egress of a machine resets all connections when the host disconnects, and opens again for the next host', async () => {
    await egress.open();
    const { connection } = await open();
    gate.destroy();
    assert.equal(await endOf(connection.resume()), 'ECONNRESET');
    assert.equal(await endOf(connectTo(egress.port)), 'ECONNRESET');
    gate = await connectGate();
    assert.equal(await endOf(connectTo(egress.port)), 'ECONNRESET');
    await egress.open();
    await egress.open();
    await open();
  });
});
