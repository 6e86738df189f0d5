/**
 * One stream of a guest's HTTP/2 connection, with the manners of a socket: it
 * ends with both its sides, an end that was cut off has no `end`, and nothing
 * that happens to it is thrown at somebody who does not listen.
 *
 * A piece as it comes is cut out of a read of 64 KiB, all of which it keeps, be
 * it a single byte. So pieces are copied, counted, and joined before they are
 * passed on.
 */
import { constants } from 'node:http2';
import type { Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import type { Intake } from './intake.ts';

/** What is handed to HTTP/2 at once: what it holds counts against the memory of its session. */
const sliceBytes = 64 * 1024;
/** What is joined to one chunk, and so what a stream holds beyond its window. */
const gatheredBytesMax = 256 * 1024;

/** What a stream keeps, even if it holds a single byte. */
const blockBytes = 16 * 1024;

export interface GuestStreamOptions {
  /** Of all streams of the connection. */
  intake: Intake;
  /** How long the guest may leave unread what is sent to it. */
  writeMsMax: number;
  onStalled: () => void;
}

export class GuestStream extends Duplex {
  readonly #stream: Http2Stream;
  readonly #options: GuestStreamOptions;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  /** Those that HTTP/2 keeps while nobody reads, beside the gathered ones. */
  #heldPieces = 0;
  /** Where the next pieces are copied to, one behind the other. */
  #block = Buffer.alloc(0);
  #flush: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;

  constructor(stream: Http2Stream, options: GuestStreamOptions) {
    super({ allowHalfOpen: false, highWaterMark: sliceBytes });
    this.#stream = stream;
    this.#options = options;
    this.on('error', () => {});
    const push = stream.push.bind(stream);
    stream.push = (chunk: Buffer | null) => push(chunk === null ? null : this.#hold(chunk));
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    // With or without an error: after an end this is nothing new, before it is a cut.
    stream.on('close', () => this.destroy());
    stream.on('error', () => {});
  }

  /** As sockets have it, for Node's HTTP server: goes when what was written is sent. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy()).end();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#late = setTimeout(this.#options.onStalled, this.#options.writeMsMax).unref();
    const slice = chunk.subarray(0, sliceBytes);
    this.#stream.write(slice, (error) => {
      clearTimeout(this.#late);
      if (error || slice.length === chunk.length) done(error);
      else this._write(chunk.subarray(slice.length), _encoding, done);
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearImmediate(this.#flush);
    clearTimeout(this.#late);
    this.#options.intake.letGo(this.#heldPieces);
    this.#gathered = [];
    this.#stream.off('data', this.#onData);
    if (this.writableFinished) {
      // It lives until nothing of it is left unread.
      this.#stream.resume();
      if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    } else {
      // To close it, with whatever code, is to end it first, and a part would pass for the whole.
      this.#stream.destroy(error ?? new Error('cut off'));
    }
    done(error);
  }

  #hold(chunk: Buffer): Buffer {
    if (this.destroyed) return chunk;
    this.#heldPieces += 1;
    this.#options.intake.hold(chunk.length);
    if (this.#block.length < chunk.length) this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, chunk.length));
    const copy = this.#block.subarray(0, chunk.copy(this.#block));
    this.#block = this.#block.subarray(copy.length);
    return copy;
  }

  /** What comes in one turn of the event loop is passed on as one. */
  readonly #onData = (chunk: Buffer): void => {
    this.#gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    if (this.#gatheredBytes >= gatheredBytesMax) this.#stream.pause();
    this.#flush ??= setImmediate(() => {
      if (this.#passOn()) this.#stream.resume();
      else this.#stream.pause();
    });
  };

  readonly #onEnd = (): void => {
    // A stream that is cut off has its end as well, when it is destroyed already.
    if (this.destroyed || this.#stream.destroyed) return;
    if (this.#gathered.length > 0) this.#passOn();
    this.push(null);
  };

  /** Whether more is wanted. */
  #passOn(): boolean {
    clearImmediate(this.#flush);
    this.#flush = undefined;
    const pieces = this.#gathered.length;
    const joined = Buffer.concat(this.#gathered, this.#gatheredBytes);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#heldPieces -= pieces;
    this.#options.intake.letGo(pieces);
    return this.push(joined);
  }
}
