/**
 * The DevTools pipe: JSON messages in UTF-8, each ended by a NUL byte, which
 * cannot stand inside one.
 */
import type { Duplex } from 'node:stream';

/** Chromium's own messages stay below 256 MiB; a longer one is garbage or an attack on our memory. */
export const largestFrameBytes = 256 * 1024 * 1024;

/** A browser that reads nothing while this much waits for it is frozen. Twice the largest message that a client may send. */
export const largestQueueBytes = 128 * 1024 * 1024;

/** What holding a piece costs at least: a message that comes byte by byte is a thousand times as large in memory. */
const pieceBytesMin = 1024;

export class FrameTooLong extends Error {}

/**
 * Cuts a byte stream into messages. Pieces of a message are kept as they came
 * and joined once at its end, so a message of megabytes is copied once.
 */
export class FrameSplitter {
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  readonly limitBytes: number;

  constructor(limitBytes: number = largestFrameBytes) {
    this.limitBytes = limitBytes;
  }

  /** Calls back for each message that ends in this chunk. @throws FrameTooLong */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      this.#refuseAbove(piece.length);
      const frame = this.#pieces.length === 0 ? piece : this.#join(piece);
      if (frame.length > 0) onFrame(frame);
    }
    if (start === chunk.length) return;
    const rest = start === 0 ? chunk : chunk.subarray(start);
    this.#refuseAbove(rest.length);
    this.#pieces.push(rest);
    this.#heldBytes += rest.length;
  }

  #refuseAbove(moreBytes: number): void {
    if (Math.max(this.#heldBytes, this.#pieces.length * pieceBytesMin) + moreBytes <= this.limitBytes) return;
    this.#pieces = [];
    this.#heldBytes = 0;
    throw new FrameTooLong(`a message is longer than ${this.limitBytes} bytes`);
  }

  #join(last: Buffer): Buffer {
    this.#pieces.push(last);
    const frame = Buffer.concat(this.#pieces, this.#heldBytes + last.length);
    this.#pieces = [];
    this.#heldBytes = 0;
    return frame;
  }
}

export interface PipeEvents {
  onFrame(frame: Buffer): void;
  /** Once: the stream ended or failed (`closed`), or does not take what is written (`unresponsive`). */
  onGone(reason: 'closed' | 'unresponsive', cause: unknown): void;
}

/** Both directions of the pipe over one stream. It does not own the stream: whoever made it ends it. */
export class Pipe {
  readonly #stream: Duplex;
  readonly #events: PipeEvents;
  readonly #splitter = new FrameSplitter();
  #open = true;

  constructor(stream: Duplex, events: PipeEvents) {
    this.#stream = stream;
    this.#events = events;
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    stream.on('close', this.#onEnd);
    stream.on('error', this.#onError);
    // Whoever had it before may have paused it, and then a listener alone does not make it flow.
    stream.resume();
  }

  write(message: string): void {
    if (!this.#open) return;
    this.#stream.write(`${message}\0`);
    if (this.#stream.writableLength > largestQueueBytes) this.#leave('unresponsive', new Error('the browser does not read its pipe'));
  }

  /** Lets go of the stream without telling anybody. An error after that is nobody's news but must not be thrown. */
  detach(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stream.off('data', this.#onData);
    this.#stream.off('end', this.#onEnd);
    this.#stream.off('close', this.#onEnd);
  }

  #leave(reason: 'closed' | 'unresponsive', cause: unknown): void {
    if (!this.#open) return;
    this.detach();
    this.#events.onGone(reason, cause);
  }

  #onData = (chunk: Buffer): void => {
    try {
      this.#splitter.push(chunk, (frame) => {
        if (this.#open) this.#events.onFrame(frame);
      });
    } catch (error) {
      this.#leave('closed', error);
    }
  };

  #onEnd = (): void => this.#leave('closed', new Error('the pipe ended'));
  #onError = (error: Error): void => this.#leave('closed', error);
}
