/**
 * The DevTools pipe: JSON messages in UTF-8, each terminated by a NUL byte, which
 * JSON text cannot contain.
 */
import type { Duplex } from 'node:stream';
import { TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import { WriteGroup } from '@berth/lib/turns/write-group.ts';
import { LargeReply, replyBytesMax } from './messages/large-reply.ts';

/** Chromium's own messages stay below 256 MiB; a longer one is garbage or an attack on our memory. */
const frameBytesMax = 256 * 1024 * 1024;

/** A browser that does not read while this much is queued is frozen. Twice the largest message that a client may send. */
const queueBytesMax = 128 * 1024 * 1024;

/** Clients are not read while more bytes than this are queued. What is queued is written in one turn. */
const fullBytes = 1024 * 1024;

/** Maximum bytes of a message that is checked for its end before its NUL comes; most replies and events are shorter. */
const wholeBytesMax = 2048;

/** Minimum memory of a held chunk: a message that arrives byte by byte takes a thousand times its size. */
const pieceBytesMin = 1024;

export class FrameTooLongError extends Error {}

/**
 * Splits a byte stream into messages. Chunks of a message are held as they
 * arrive and joined once at its end, so a message of megabytes is copied once.
 * A reply that is too large is not held: an error comes in its place.
 *
 * Chromium writes a message and its NUL in two calls, each of which wakes this
 * process. A short message that is a whole object does not wait for the second.
 */
export class FrameSplitter {
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  /** The reply that is being skipped. */
  #skipped: LargeReply | null = null;
  readonly maxBytes: number;

  constructor(maxBytes: number = frameBytesMax) {
    this.maxBytes = maxBytes;
  }

  /** Calls back for each message that ends in this chunk. @throws FrameTooLongError */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      const frame = this.#end(piece);
      if (frame.length > 0) onFrame(frame);
    }
    if (start === chunk.length) return;
    const rest = start === 0 ? chunk : chunk.subarray(start);
    if (this.#pieces.length === 0 && !this.#skipped && isWholeObject(rest)) onFrame(rest);
    else this.#hold(rest);
  }

  #end(piece: Buffer): Buffer {
    if (this.#pieces.length === 0 && !this.#skipped) {
      this.#assertRoomFor(piece.length);
      return piece;
    }
    this.#hold(piece);
    const frame = this.#skipped?.toError() ?? Buffer.concat(this.#pieces, this.#heldBytes);
    this.#forget();
    return frame;
  }

  #hold(piece: Buffer): void {
    if (!this.#skipped && this.#heldBytes + piece.length > replyBytesMax) this.#skipped = LargeReply.from(this.#pieces[0] ?? piece);
    if (this.#skipped) {
      this.#pieces = [];
      this.#skipped.skip(piece);
      return;
    }
    this.#assertRoomFor(piece.length);
    this.#pieces.push(piece);
    this.#heldBytes += piece.length;
  }

  #forget(): void {
    this.#pieces = [];
    this.#heldBytes = 0;
    this.#skipped = null;
  }

  #assertRoomFor(moreBytes: number): void {
    if (Math.max(this.#heldBytes, this.#pieces.length * pieceBytesMin) + moreBytes <= this.maxBytes) return;
    this.#forget();
    throw new FrameTooLongError(`a message is longer than ${this.maxBytes} bytes`);
  }
}

const [quote, backslash, openBrace, closeBrace] = [0x22, 0x5c, 0x7b, 0x7d];

/** Whether these are all bytes of a JSON object: nothing but the NUL can follow. */
function isWholeObject(bytes: Buffer): boolean {
  const { length } = bytes;
  if (length > wholeBytesMax || bytes[length - 1] !== closeBrace) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) at += 1;
    else if (!isText && byte === openBrace) depth += 1;
    else if (!isText && byte === closeBrace) depth -= 1;
    if (depth === 0) return at === length - 1;
  }
  return false;
}

interface PipeEvents {
  onFrame(frame: Buffer): void;
  /** Called once: the stream ended or failed (`closed`), or the browser does not read it (`unresponsive`). */
  onClose(reason: 'closed' | 'unresponsive', cause: unknown): void;
}

/** Both directions of the pipe over one stream. It does not own the stream: its creator ends it. */
export class Pipe {
  readonly #stream: Duplex;
  readonly #events: PipeEvents;
  readonly #splitter = new FrameSplitter();
  readonly #turn = new TurnBudget();
  readonly #writes: WriteGroup;
  /** Messages of a chunk that wait for the next turn. */
  #waiting: Buffer[] = [];
  #drained: PromiseWithResolvers<void> | null = null;
  #open = true;

  constructor(stream: Duplex, events: PipeEvents) {
    this.#stream = stream;
    this.#events = events;
    this.#writes = new WriteGroup(stream);
    stream.on('data', this.#onData);
    stream.on('drain', this.#onDrain);
    stream.on('end', this.#onEnd);
    stream.on('close', this.#onEnd);
    stream.on('error', this.#onError);
    // A previous owner may have paused the stream; a listener alone does not resume it.
    stream.resume();
  }

  /** A large message comes in parts, which are not joined. */
  write(message: string | (string | Buffer)[]): void {
    if (!this.#open) return;
    this.#writes.add();
    if (typeof message === 'string') this.#stream.write(`${message}\0`);
    else {
      this.#stream.cork();
      for (const part of [...message, '\0']) this.#stream.write(part);
      this.#stream.uncork();
    }
    if (this.#stream.writableLength > queueBytesMax) this.#close('unresponsive', new Error('the browser does not read its pipe'));
  }

  /** Resolves when the browser has read what is queued; undefined while it keeps up. */
  drained(): Promise<void> | undefined {
    if (!this.#open || this.#stream.writableLength <= fullBytes) return undefined;
    this.#drained ??= Promise.withResolvers<void>();
    return this.#drained.promise;
  }

  /** Stops using the stream without calling `onClose`. The error listener stays, so that a late error is not thrown. */
  detach(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#waiting = [];
    this.#onDrain();
    this.#stream.off('data', this.#onData);
    this.#stream.off('drain', this.#onDrain);
    this.#stream.off('end', this.#onEnd);
    this.#stream.off('close', this.#onEnd);
    // The stream is read on so that its end is noticed.
    this.#stream.resume();
  }

  #close(reason: 'closed' | 'unresponsive', cause: unknown): void {
    if (!this.#open) return;
    this.detach();
    this.#events.onClose(reason, cause);
  }

  #onData = (chunk: Buffer): void => {
    try {
      this.#splitter.push(chunk, (frame) => this.#waiting.push(frame));
    } catch (error) {
      this.#deliver(() => false);
      this.#close('closed', error);
    }
    this.#deliverInTurns();
  };

  /** A browser that floods its pipe, such as by the console of a page, is read further in the next turn. */
  #deliverInTurns = (): void => {
    this.#deliver(() => this.#turn.isSpent());
    if (!this.#open) return;
    if (!this.#turn.isSpent()) {
      if (this.#stream.isPaused()) this.#stream.resume();
      return;
    }
    this.#stream.pause();
    setImmediate(this.#deliverInTurns);
  };

  #deliver(shouldStop: () => boolean): void {
    const frames = this.#waiting;
    this.#waiting = [];
    let next = 0;
    while (next < frames.length && this.#open && !shouldStop()) this.#events.onFrame(frames[next++] as Buffer);
    if (this.#open && next < frames.length) this.#waiting = frames.slice(next).concat(this.#waiting);
  }

  #onEnd = (): void => {
    this.#deliver(() => false);
    this.#close('closed', new Error('the pipe ended'));
  };
  #onError = (error: Error): void => this.#close('closed', error);
  #onDrain = (): void => {
    this.#drained?.resolve();
    this.#drained = null;
  };
}
