/**
 * The browser's only egress: the address of its proxy. Each connection becomes a
 * stream to the host, which decides about it. Without a host, connections are
 * refused at once.
 */
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { guestPorts } from '@berth/contract/guest';
import { egressWindowBytes, sessionMemoryMax, configureSession } from './sessions.ts';

/** A browser opens six per site and some dozens in all. */
const connectionsMax = 256;
/** The host is normally connected when it asks to open egress. */
const hostMsMax = 2000;
const hostPollMs = 10;

/** No host is connected to the egress port. */
export class EgressUnavailableError extends Error {}

export class Egress {
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #host: Duplex | undefined;
  #session: ClientHttp2Session | undefined;

  /** Listens on a port of 127.0.0.1; 0 picks a free one. */
  constructor(port: number) {
    // Each direction ends on its own.
    this.#server = createServer({ allowHalfOpen: true }, (connection) => this.#accept(connection));
    this.#server.maxConnections = connectionsMax;
    this.#server.listen(port, '127.0.0.1');
  }

  /** The bound port; 0 until it listens. */
  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** A host has connected to the port. Nothing is sent to it before `open`. */
  attachHost(host: Duplex): void {
    this.#host = host;
    host.once('close', () => {
      if (this.#host === host) this.#host = undefined;
    });
  }

  /** Starts to forward connections to the connected host. Idempotent. @throws EgressUnavailableError */
  async open(): Promise<void> {
    if (this.#session) return;
    const deadline = performance.now() + hostMsMax;
    while (!this.#host && performance.now() < deadline) await sleep(hostPollMs);
    const host = this.#host;
    if (!host) throw new EgressUnavailableError('no host is connected to the port');
    this.#host = undefined;
    const session = connect(`http://${guestPorts.egress}`, {
      createConnection: () => host,
      maxSessionMemory: sessionMemoryMax,
      peerMaxConcurrentStreams: connectionsMax,
      settings: { initialWindowSize: egressWindowBytes, enablePush: false },
    });
    configureSession(session, host);
    this.#session = session;
    session.once('close', () => this.#forget(session));
  }

  close(): void {
    this.#server.close();
    this.#session?.destroy();
    for (const connection of this.#connections) connection.resetAndDestroy();
  }

  #forget(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
  }

  #accept(connection: Socket): void {
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
    proxyConnection(connection, stream);
  }
}

/** An aborted side aborts the other, so that a page never takes a part for the whole. */
function proxyConnection(connection: Socket, stream: ClientHttp2Stream): void {
  const isWhole = (): boolean => stream.readableEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR;
  stream.on('error', () => {});
  stream.once('response', ({ [constants.HTTP2_HEADER_STATUS]: status }) => {
    if (Number(status) !== constants.HTTP_STATUS_OK) stream.destroy(new Error('refused by the host'));
  });
  connection.pipe(stream);
  // A stream that is cut off emits `end` as well, after it was destroyed.
  stream.pipe(connection, { end: false });
  stream.once('end', () => {
    if (!stream.destroyed && isWhole()) connection.end();
  });
  stream.once('close', () => {
    if (isWhole()) connection.destroySoon();
    else connection.resetAndDestroy();
  });
  connection.once('close', () => {
    // `close` with any code sends an end first, so destroy it.
    if (!connection.readableEnded || !isWhole()) stream.destroy(new Error('cut off'));
  });
}
