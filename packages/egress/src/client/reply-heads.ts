/** Reads the heads of a connection's replies, and what frames their chunks, before Node's parser gets them. */
import type { Socket } from 'node:net';
import { EgressError } from '../policy.ts';
import { ReplyChunks } from './reply-chunks.ts';
import { endOfHead, readHead, replyHeadBytesMax, startOfHead, type RefusedHead } from './reply-head.ts';

/** A reply that no browser reads: to ask again would not help. */
export class ReplyRefusedError extends EgressError {
  constructor(site: string, fault: RefusedHead) {
    const { netError, what } = faults[fault];
    super('connection_reset', `${site} ${what}`, { netError, publicMessage: `${site} ${what}` });
    this.name = 'ReplyRefusedError';
  }
}

const faults: Record<RefusedHead, { netError: string; what: string }> = {
  invalid: { netError: 'net::ERR_INVALID_HTTP_RESPONSE', what: 'sent a response that is not HTTP' },
  too_big: { netError: 'net::ERR_RESPONSE_HEADERS_TOO_BIG', what: `sent more than ${replyHeadBytesMax / 1024} KiB of headers` },
  truncated: { netError: 'net::ERR_RESPONSE_HEADERS_TRUNCATED', what: 'closed the connection within the headers' },
  lengths: { netError: 'net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH', what: 'sent different `Content-Length` headers' },
  locations: { netError: 'net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION', what: 'sent different `Location` headers' },
  dispositions: {
    netError: 'net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_DISPOSITION',
    what: 'sent different `Content-Disposition` headers',
  },
};

export class ReplyHeads {
  readonly #stream: Socket;
  /** The site's name in error messages. */
  readonly #site: string;
  /** Whether a head comes next. What comes after it, up to the next request, is the body. */
  #isExpected = true;
  /** Reads the body of the reply; null where it has no chunks. */
  #chunks: ReplyChunks | null = null;
  /** The received part of a head, at the start of a buffer that doubles: heads may come byte by byte. */
  #held: Buffer = Buffer.alloc(0);
  #heldBytes = 0;
  #searchedBytes = 0;

  /** The stream's bytes pass through here from now on, also those that have come and that nobody has read. */
  constructor(stream: Socket, site: string) {
    this.#stream = stream;
    this.#site = site;
    const push = stream.push.bind(stream);
    stream.push = (chunk: Buffer | null) => (chunk === null ? this.#end(push) : this.#take(chunk, push));
    // A proxy may have sent the site's first bytes with its own reply.
    const early: Buffer | null = stream.readableLength > 0 ? stream.read() : null;
    if (early) this.#take(early, (bytes) => (stream.unshift(bytes), true));
  }

  /** Is to be called with each request: one is sent when the reply to the one before has ended. */
  expect(): void {
    this.#isExpected = true;
  }

  #take(chunk: Buffer, push: (chunk: Buffer) => boolean): boolean {
    if (!this.#isExpected) return push(this.#chunks ? Buffer.concat(this.#chunks.rewrite(chunk)) : chunk);
    this.#hold(chunk);
    const passed: Buffer[] = [];
    while (this.#isExpected) {
      const next = this.#nextHead();
      if (typeof next === 'string') return this.#refuse(next);
      if (next === null) break;
      passed.push(next);
    }
    if (!this.#isExpected) passed.push(...this.#startBody(this.#release()));
    // An empty piece reports to the stream a read that has come to nothing.
    return push(Buffer.concat(passed));
  }

  #hold(chunk: Buffer): void {
    if (this.#heldBytes === 0) this.#held = chunk;
    const bytes = this.#heldBytes + chunk.length;
    if (bytes > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    if (this.#heldBytes > 0) chunk.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  /** The next head of what is held, which it leaves out then; null while there is none. */
  #nextHead(): Buffer | RefusedHead | null {
    const held = this.#held.subarray(0, this.#heldBytes);
    const start = startOfHead(held);
    if (start === undefined) return null;
    if (start === null) return 'invalid';
    const bytes = held.subarray(start);
    const end = endOfHead(bytes, Math.max(0, this.#searchedBytes - start));
    this.#searchedBytes = this.#heldBytes;
    if ((end ?? bytes.length) > replyHeadBytesMax) return 'too_big';
    if (end === null) return null;
    const head = readHead(bytes.subarray(0, end));
    if (typeof head === 'string') return head;
    // An informational head is followed by another head.
    this.#isExpected = head.status < 200;
    this.#chunks = head.isChunked ? new ReplyChunks() : null;
    this.#held = bytes.subarray(end);
    this.#heldBytes = this.#held.length;
    this.#searchedBytes = 0;
    return Buffer.from(head.text, 'latin1');
  }

  #startBody(bytes: Buffer): Buffer[] {
    return this.#chunks?.rewrite(bytes) ?? [bytes];
  }

  #release(): Buffer {
    const rest = this.#held.subarray(0, this.#heldBytes);
    this.#held = Buffer.alloc(0);
    this.#heldBytes = 0;
    return rest;
  }

  #end(push: (chunk: null) => boolean): boolean {
    if (!this.#isExpected || this.#heldBytes === 0) return push(null);
    return this.#refuse(startOfHead(this.#held.subarray(0, this.#heldBytes)) === undefined ? 'invalid' : 'truncated');
  }

  #refuse(fault: RefusedHead): false {
    this.#release();
    this.#isExpected = false;
    this.#stream.destroy(new ReplyRefusedError(this.#site, fault));
    return false;
  }
}
