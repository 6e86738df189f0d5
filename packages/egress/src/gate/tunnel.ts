/**
 * A port of the caller's own computer, for one machine. The caller's program serves HTTP/2 on a stream that it has
 * opened, and each connection of the browser is a CONNECT of it (RFC 9113, 8.5): flow control and limits are HTTP/2's.
 */
import { connect as connectHttp2, constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { orAbort } from '@berth/lib/or-abort.ts';
import { socketPair } from '@berth/lib/socket-pair.ts';
import { EgressError } from '../policy.ts';
import { TunnelSocket } from './tunnel-socket.ts';

/** Connections at the same time. A browser opens 32 through a proxy for each of its contexts, beside WebSockets. */
const streamsMax = 128;
/** What of a connection is under way or unread: enough for 2 MB a second with 60 ms between the two ends. */
const streamWindowBytes = 128 * 1024;
/** The same of all connections together, so that a slow one takes nothing from the others. */
const windowBytes = 4 * 1024 * 1024;
/** What the library holds of a session before it refuses streams. More than all windows together. */
const sessionMegabytesMax = 32;
/** Often enough that proxies do not close a silent tunnel. */
const pingMs = 20_000;
/** Unanswered pings after which the other end is dead. */
const missedPingsMax = 3;

export class Tunnel {
  readonly port: number;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Set<ClientHttp2Stream>();

  private constructor(port: number, socket: Socket) {
    this.port = port;
    const session = connectHttp2('http://tunnel.invalid', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
      maxSessionMemory: sessionMegabytesMax,
    });
    this.#session = session;
    // What is wrong with the other end closes the tunnel, and its connections fail with that.
    session.on('error', () => {}).once('connect', () => session.destroyed || session.setLocalWindowSize(windowBytes));
    this.#keepAlive();
  }

  /** `stream`: where the caller's program serves HTTP/2. The tunnel closes with it; closing the stream is left to who opened it. */
  static async over(stream: Duplex, port: number): Promise<Tunnel> {
    stream.on('error', () => {});
    const [near, far] = await socketPair();
    const tunnel = new Tunnel(port, near);
    far.on('error', () => {}).once('close', () => stream.unpipe(far));
    stream.once('close', () => far.destroy());
    stream.pipe(far).pipe(stream, { end: false });
    if (stream.destroyed) far.destroy();
    return tunnel;
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  onClose(listener: () => void): void {
    this.#session.once('close', listener);
  }

  close(): void {
    this.#session.destroy();
  }

  /**
   * Opens a connection to the port. `authority` is what the browser called it.
   * @throws EgressError, or the signal's reason
   */
  async open(authority: string, signal: AbortSignal): Promise<TunnelSocket> {
    signal.throwIfAborted();
    if (!this.isOpen) throw new EgressError('connection_reset', 'the tunnel is closed');
    if (this.#streams.size >= streamsMax)
      throw new EgressError('connection_refused', `the tunnel has ${streamsMax} connections`, {
        publicMessage: `the tunnel to port ${this.port} has ${streamsMax} connections, which is its limit`,
      });
    const stream = this.#session.request({ ':method': 'CONNECT', ':authority': authority });
    this.#streams.add(stream);
    stream.on('error', () => {}).once('close', () => this.#streams.delete(stream));
    try {
      const status = await orAbort(statusOf(stream), signal);
      if (status !== constants.HTTP_STATUS_OK)
        throw new EgressError('connection_refused', `the other end of the tunnel replied ${status}`, {
          publicMessage: `nothing accepts connections on port ${this.port} of the computer that opened the tunnel`,
        });
      return new TunnelSocket(stream);
    } catch (error) {
      stream.close(constants.NGHTTP2_CANCEL);
      throw error;
    }
  }

  #keepAlive(): void {
    let missed = 0;
    const timer = setInterval(() => {
      if (missed >= missedPingsMax) return this.close();
      missed += 1;
      this.#session.ping((error) => {
        if (!error) missed = 0;
      });
    }, pingMs);
    timer.unref();
    this.onClose(() => clearInterval(timer));
  }
}

function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  stream.once('response', (headers: IncomingHttpHeaders & { ':status'?: number }) => resolve(headers[':status'] ?? 0));
  stream.once('close', () => reject(new EgressError('connection_reset', 'the tunnel closed the connection before it was open')));
  return promise;
}
