/**
 * One stream of a guest's HTTP/2 connection that behaves like a socket: it closes
 * when both sides have ended, an abort emits no `end`, and errors without a
 * listener are ignored.
 *
 * A received chunk is a slice of a 64 KiB read and keeps all of it alive, even for
 * a single byte. So chunks are copied, counted, and joined before they are passed
 * on.
 */
import { constants, type Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import type { FloodGuard } from './flood-guard.ts';

/** Size of one write to HTTP/2: data it holds counts against the session's memory. */
const sliceBytes = 64 * 1024;
/** Maximum size of a joined chunk, which a stream holds beyond its window. */
const gatheredBytesMax = 256 * 1024;

/** Minimum memory of a stream that holds data. */
const blockBytes = 16 * 1024;

interface GuestStreamOptions {
  /** Shared by all streams of the connection. */
  floodGuard: FloodGuard;
  /** Time that sent data may stay unread by the guest. */
  writeMsMax: number;
  onStalled: () => void;
}

export class GuestStream extends Duplex {
  readonly #stream: Http2Stream;
  readonly #options: GuestStreamOptions;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  /** Chunks held by HTTP/2 while nobody reads, and the gathered ones. */
  #heldPieces = 0;
  /** Buffer that the next chunks are copied to. */
  #block = Buffer.alloc(0);
  #flush: NodeJS.Immediate | undefined;
  #hasEnded = false;
  #stallTimer: NodeJS.Timeout | undefined;

  constructor(stream: Http2Stream, options: GuestStreamOptions) {
    super({ allowHalfOpen: false, highWaterMark: sliceBytes });
    this.#stream = stream;
    this.#options = options;
    this.on('error', () => {});
    const push = stream.push.bind(stream);
    stream.push = (chunk: Buffer | null) => push(chunk === null ? null : this.#hold(chunk));
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    stream.on('close', this.#onClose);
    stream.on('error', () => {});
  }

  /** Destroys the stream after all writes are flushed, like `Socket.destroySoon`, which Node's HTTP server calls. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy()).end();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#stallTimer = setTimeout(this.#options.onStalled, this.#options.writeMsMax).unref();
    const slice = chunk.subarray(0, sliceBytes);
    this.#stream.write(slice, (error) => {
      clearTimeout(this.#stallTimer);
      if (error || slice.length === chunk.length) done(error);
      else this._write(chunk.subarray(slice.length), _encoding, done);
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearImmediate(this.#flush);
    clearTimeout(this.#stallTimer);
    this.#options.floodGuard.release(this.#heldPieces);
    this.#gathered = [];
    this.#stream.off('data', this.#onData);
    if (this.writableFinished) {
      // The stream stays open until it is fully read.
      this.#stream.resume();
      if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    } else {
      // `close` with any code sends an end first, and a part would pass for the whole.
      this.#stream.destroy(error ?? new Error('cut off'));
    }
    done(error);
  }

  #hold(chunk: Buffer): Buffer {
    if (this.destroyed) return chunk;
    this.#heldPieces += 1;
    this.#options.floodGuard.hold(chunk.length);
    if (this.#block.length < chunk.length) this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, chunk.length));
    const copy = this.#block.subarray(0, chunk.copy(this.#block));
    this.#block = this.#block.subarray(copy.length);
    return copy;
  }

  /** Joins the chunks of one turn of the event loop. */
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
    // An aborted stream emits `end` as well, after it was destroyed.
    if (this.destroyed || this.#stream.destroyed) return;
    this.#hasEnded = true;
    if (this.#gathered.length > 0) this.#passOn();
    this.push(null);
  };

  /** A close before the end is an abort, with or without an error. After an end the consumer may still have something to read. */
  readonly #onClose = (): void => {
    if (this.#hasEnded && !this.readableEnded) this.once('end', () => this.destroy());
    else this.destroy();
  };

  /** Returns whether the consumer wants more. */
  #passOn(): boolean {
    clearImmediate(this.#flush);
    this.#flush = undefined;
    const pieces = this.#gathered.length;
    const joined = Buffer.concat(this.#gathered, this.#gatheredBytes);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#heldPieces -= pieces;
    this.#options.floodGuard.release(pieces);
    return this.push(joined);
  }
}
