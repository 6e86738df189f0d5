/** The service's side of `berth.egress`: each CONNECT stream that the agent opens is a connection of the browser, and goes to the gate. */
import { performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { guestPorts } from '@berth/contract/guest';
import { Intake } from './intake.ts';
import { openWindow, sessionLimits } from './limits.ts';
import { GuestStream } from './stream.ts';

/** As many as a browser opens to all sites together. */
const connectionsMax = 256;
/** What a page uploads comes slower than what it loads, and a site that does not read lets so much of each stand here. */
const streamWindowBytes = 128 * 1024;
const connectionWindowBytes = 4 * 1024 ** 2;
/** A browser whose pages are refused everything asks again some hundred times a second. Each costs us some 0.1 ms. */
const openingsMax = 10_000;
const openingsPerMs = 10_000;
/** Browsers drop connections as they open them. */
const resets = { streamResetBurst: 2000, streamResetRate: 500 };
/** What is sent to a connection that does not read waits with it, not for ever. */
const writeMsMax = 600_000;

export interface EgressOptions {
  port: Duplex;
  accept: (connection: Duplex) => void;
  /** Told once that the connection is no more, by whoever's doing, and why. */
  onLost: (why: string) => void;
}

export class GuestEgress {
  readonly #options: EgressOptions;
  readonly #session: ServerHttp2Session;
  readonly #intake: Intake;
  #openings = { sinceMs: 0, count: 0 };
  #isLost = false;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#intake = new Intake(options.port, (limit) => this.lose(`egress: ${limit}`));
    options.port.on('error', () => {});
    this.#session = performServerHandshake(options.port, {
      ...sessionLimits,
      ...resets,
      settings: { ...sessionLimits.settings, maxConcurrentStreams: connectionsMax, initialWindowSize: streamWindowBytes },
    });
    openWindow(this.#session, connectionWindowBytes);
    this.#session.on('stream', (stream, headers) => this.#onStream(stream, headers));
    this.#session.on('error', (error) => this.lose(`egress: ${error.message}`));
    this.#session.on('goaway', (code) => this.lose(`egress: the agent left with code ${code}`));
    this.#session.on('close', () => this.lose('egress: the connection closed'));
    if (options.port.destroyed) process.nextTick(() => this.lose('egress: the connection closed'));
  }

  /** Ends the connection for a reason, unless it has ended. */
  lose(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#intake.close();
    this.#session.destroy();
    this.#options.port.destroy();
    this.#options.onLost(why);
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const connection = new GuestStream(stream, { intake: this.#intake, writeMsMax, onStalled: () => connection.destroy() });
    stream.on('headers', () => this.lose('egress: a second head'));
    if (headers[':method'] !== 'CONNECT' || headers[':authority'] !== guestPorts.egress)
      return this.lose('egress: another request than CONNECT');
    if (this.#isFlood()) return this.lose(`egress: more than ${openingsMax} connections within ${openingsPerMs} ms`);
    // It may have been dropped before we came to it.
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
