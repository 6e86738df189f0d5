/** Server of `berth.egress`: each CONNECT stream of the agent is a connection of the browser, and is passed to the gate. */
import { performServerHandshake, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { guestPorts } from '@berth/contract/guest';
import { FloodGuard, openWindow, sessionLimits } from './flood-guard.ts';
import { GuestStream } from './stream.ts';

/** A browser opens no more in all. */
const connectionsMax = 256;
/** Uploads are slower than downloads. This much per connection is buffered for a site that does not read. */
const streamWindowBytes = 128 * 1024;
const connectionWindowBytes = 4 * 1024 ** 2;
/** A browser whose requests are all refused retries some hundred times a second. Each costs about 0.1 ms. */
const openingsMax = 10_000;
const openingsPerMs = 10_000;
/** Browsers often reset connections right after opening them. */
const resets = { streamResetBurst: 2000, streamResetRate: 500 };
/** Time that sent data may stay unread by a connection. */
const writeMsMax = 600_000;

interface EgressOptions {
  port: Duplex;
  accept: (connection: Duplex) => void;
  /** Called once with the reason when the connection closes. */
  onClosed: (why: string) => void;
}

export class GuestEgress {
  readonly #options: EgressOptions;
  readonly #session: ServerHttp2Session;
  readonly #floodGuard: FloodGuard;
  #openings = { sinceMs: 0, count: 0 };
  #isClosed = false;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#floodGuard = new FloodGuard(options.port, (limit) => this.close(`egress: ${limit}`));
    options.port.on('error', () => {});
    this.#session = performServerHandshake(options.port, {
      ...sessionLimits,
      ...resets,
      settings: { ...sessionLimits.settings, maxConcurrentStreams: connectionsMax, initialWindowSize: streamWindowBytes },
    });
    openWindow(this.#session, connectionWindowBytes);
    this.#session.on('stream', (stream, headers) => this.#onStream(stream, headers));
    this.#session.on('error', (error) => this.close(`egress: ${error.message}`));
    this.#session.on('goaway', (code) => this.close(`egress: the agent left with code ${code}`));
    this.#session.on('close', () => this.close('egress: the connection closed'));
    if (options.port.destroyed) process.nextTick(() => this.close('egress: the connection closed'));
  }

  /** Closes the connection with a reason. Idempotent. */
  close(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#floodGuard.close();
    this.#session.destroy();
    this.#options.port.destroy();
    this.#options.onClosed(why);
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const connection = new GuestStream(stream, { floodGuard: this.#floodGuard, writeMsMax, onStalled: () => connection.destroy() });
    stream.on('headers', () => this.close('egress: a second head'));
    if (headers[':method'] !== 'CONNECT' || headers[':authority'] !== guestPorts.egress)
      return this.close('egress: another request than CONNECT');
    if (this.#isFlood()) return this.close(`egress: more than ${openingsMax} connections within ${openingsPerMs} ms`);
    // The browser may have reset it already.
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ':status': 200 });
    this.#options.accept(connection);
  }

  #isFlood(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#openings.sinceMs > openingsPerMs) this.#openings = { sinceMs: nowMs, count: 0 };
    this.#openings.count += 1;
    return this.#openings.count > openingsMax;
  }
}
