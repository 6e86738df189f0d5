/** Where WebSocket frames end in a stream of bytes, without a look at what is in them (RFC 6455, section 5.2). */

/** Two bytes, a length of eight, and a mask. */
const headerBytesMax = 14;
const closeOpcode = 8;

export class FrameBoundary {
  readonly #header = Buffer.alloc(headerBytesMax);
  #headerBytes = 0;
  #payloadBytesLeft = 0;
  #hasClosed = false;

  /** Whether nothing of the next frame has passed. */
  get isReached(): boolean {
    return this.#headerBytes === 0 && this.#payloadBytesLeft === 0;
  }

  /** Whether a close frame has begun: no frame may follow it. */
  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  /** Follows the stream. Returns how many of these bytes belong to the current frame; null where it does not end in them. */
  pass(bytes: Buffer): number | null {
    let end: number | null = null;
    for (let at = 0; at < bytes.length;) {
      if (this.#payloadBytesLeft > 0) {
        const step = Math.min(this.#payloadBytesLeft, bytes.length - at);
        this.#payloadBytesLeft -= step;
        at += step;
      } else this.#readHeader(bytes[at++] ?? 0);
      if (end === null && this.isReached) end = at;
    }
    return end;
  }

  #readHeader(byte: number): void {
    const header = this.#header;
    header[this.#headerBytes++] = byte;
    const [first = 0, second = 0] = header;
    if (this.#headerBytes === 1) this.#hasClosed ||= (first & 0x0f) === closeOpcode;
    if (this.#headerBytes < 2) return;
    const shortLength = second & 0x7f;
    const lengthBytes = shortLength === 127 ? 8 : shortLength === 126 ? 2 : 0;
    const maskBytes = second & 0x80 ? 4 : 0;
    if (this.#headerBytes < 2 + lengthBytes + maskBytes) return;
    this.#headerBytes = 0;
    this.#payloadBytesLeft =
      lengthBytes === 8 ? Number(header.readBigUInt64BE(2)) : lengthBytes === 2 ? header.readUInt16BE(2) : shortLength;
  }
}

/** An unmasked close frame, as a server sends it. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const frame = Buffer.alloc(4 + text.length);
  frame.set([0x80 | closeOpcode, 2 + text.length]);
  frame.writeUInt16BE(code, 2);
  frame.set(text, 4);
  return frame;
}
