/**
 * The browser's way out: its proxy's address, where each connection becomes a
 * stream to the host, which decides about it. There is no other way, and where
 * nobody takes connections they are refused at once.
 */
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { guestPorts } from '@berth/contract/guest';
import { egressWindowBytes, sessionMemoryMax, tend } from './sessions.ts';

/** A browser has six to each site and some dozens in all. */
const connectionsMax = 256;
/** The host is there when it asks for the way to be opened. */
const hostMsMax = 2000;
const hostPollMs = 10;

/** The host does not take connections. */
export class NoWayOut extends Error {}

export class Egress {
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #host: Duplex | undefined;
  #session: ClientHttp2Session | undefined;

  /** Listens at a port of 127.0.0.1; 0 is any. */
  constructor(port: number) {
    // The end of what one side has to say is not the end of the other.
    this.#server = createServer({ allowHalfOpen: true }, (connection) => this.#take(connection));
    this.#server.maxConnections = connectionsMax;
    this.#server.listen(port, '127.0.0.1');
  }

  /** 0 until it listens. */
  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** A host has come to the port. Nothing is said to it before `open`. */
  meet(host: Duplex): void {
    this.#host = host;
    host.once('close', () => {
      if (this.#host === host) this.#host = undefined;
    });
  }

  /** From now on connections are carried to the host that is there; asked again it is the same one. Throws NoWayOut. */
  async open(): Promise<void> {
    if (this.#session) return;
    const deadline = performance.now() + hostMsMax;
    while (!this.#host && performance.now() < deadline) await sleep(hostPollMs);
    const host = this.#host;
    if (!host) throw new NoWayOut('nobody is at the port');
    this.#host = undefined;
    const session = connect(`http://${guestPorts.egress}`, {
      createConnection: () => host,
      maxSessionMemory: sessionMemoryMax,
      peerMaxConcurrentStreams: connectionsMax,
      settings: { initialWindowSize: egressWindowBytes, enablePush: false },
    });
    tend(session, host);
    this.#session = session;
    session.once('close', () => this.#lose(session));
  }

  close(): void {
    this.#server.close();
    this.#session?.destroy();
    for (const connection of this.#connections) connection.resetAndDestroy();
  }

  #lose(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
  }

  #take(connection: Socket): void {
    connection.on('error', () => {});
    const session = this.#session;
    if (!session || session.closed || session.destroyed) {
      connection.resetAndDestroy();
      return;
    }
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    const stream = session.request(
      { [constants.HTTP2_HEADER_METHOD]: 'CONNECT', [constants.HTTP2_HEADER_AUTHORITY]: guestPorts.egress },
      { endStream: false },
    );
    carry(connection, stream);
  }
}

/** What was cut off on one side is cut off on the other, for a page must not take a part for the whole. */
function carry(connection: Socket, stream: ClientHttp2Stream): void {
  const isWhole = (): boolean => stream.readableEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR;
  stream.on('error', () => {});
  stream.once('response', ({ [constants.HTTP2_HEADER_STATUS]: status }) => {
    if (Number(status) !== constants.HTTP_STATUS_OK) stream.destroy(new Error('not taken'));
  });
  connection.pipe(stream);
  // A stream that is cut off has its end as well, when it is destroyed already.
  stream.pipe(connection, { end: false });
  stream.once('end', () => {
    if (!stream.destroyed && isWhole()) connection.end();
  });
  stream.once('close', () => {
    if (isWhole()) connection.destroySoon();
    else connection.resetAndDestroy();
  });
  connection.once('close', () => {
    // To close the stream, with whatever code, is to end it first.
    if (!connection.readableEnded || !isWhole()) stream.destroy(new Error('cut off'));
  });
}
