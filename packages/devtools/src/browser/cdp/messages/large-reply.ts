/** Replies of the browser that are large: a screenshot of noise is a hundred megabytes of one message. */

/** More is not held: whoever asked gets an error in its place. Twice the largest file that a call returns, in base64. */
export const replyBytesMax = 64 * 1024 * 1024;
/** The code of the error, which is none of the protocol's own. */
export const replyTooLargeCode = -32010;
const tooLarge =
  `The reply is larger than ${replyBytesMax} bytes. Capture a smaller area, at a lower scale or as JPEG; ` +
  'ask for a PDF file as a stream; read a body in parts.';

const headBytes = 32;
/** The session's id, which the browser writes last. */
const tailBytes = 64;

/** A reply that is longer than is held: its beginning and its end. */
export class LargeReply {
  readonly #id: string;
  #tail: Buffer = Buffer.alloc(0);

  private constructor(id: string) {
    this.#id = id;
  }

  /** What the first piece says of the message; null for one that is no reply. */
  static from(first: Buffer): LargeReply | null {
    const [, id] = /^\{"id":(-?\d{1,10}),/.exec(first.toString('latin1', 0, headBytes)) ?? [];
    return id === undefined ? null : new LargeReply(id);
  }

  /** What comes next of it. */
  skip(piece: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-tailBytes)]).subarray(-tailBytes);
  }

  toError(): Buffer {
    const [session = '}'] = /,"sessionId":"[0-9A-F]{32}"\}$/.exec(this.#tail.toString('latin1')) ?? [];
    return Buffer.from(`{"id":${this.#id},"error":${JSON.stringify({ code: replyTooLargeCode, message: tooLarge })}${session}`);
  }
}

const dataStart = Buffer.from('"result":{"data":"');
const quote = 0x22;

/** The base64 of a reply whose result is a file, without parsing it; null for any other. */
export function dataOf(frame: Buffer): Buffer | null {
  const at = frame.subarray(0, headBytes + dataStart.length).indexOf(dataStart);
  if (at < 0) return null;
  const start = at + dataStart.length;
  const end = frame.indexOf(quote, start);
  const rest = frame.toString('latin1', end);
  return /^"\}(?:,"sessionId":"[0-9A-F]{32}")?\}$/.test(rest) ? frame.subarray(start, end) : null;
}
