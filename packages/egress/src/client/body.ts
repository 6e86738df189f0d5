/** Reads a reply's body, decoded, and never more of it than was asked for. */
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { HttpError } from './failure.ts';

export interface BodyLimits {
  /** Decoded bytes that are kept. */
  bodyBytesMax: number;
  /** Bytes of the body as it was sent, before it is decoded. */
  wireBytesMax: number;
}

export type BodyWarning =
  | 'truncated_at_max_bytes'
  | 'truncated_at_max_wire_bytes'
  | 'timeout_while_reading'
  | 'body_truncated'
  | 'content_encoding_unknown'
  | 'content_encoding_mismatch'
  | 'content_decoding_failed';

export interface Body {
  bytes: Buffer;
  truncated: boolean;
  warnings: BodyWarning[];
  /** The `net::ERR_…` for which browsers show nothing of it; null where they show something. */
  unreadable: string | null;
}

/** Nothing honest is packed more than twice; each layer costs memory and time. */
const layersMax = 3;
/** A zstd frame may ask for any window; browsers give 8 MiB. */
const zstdWindowBits = 23;

/**
 * Resolves with what came, also when time ran out or the connection broke on
 * the way. Throws the signal's reason when that is not that time ran out.
 * A connection that has not given all is dropped by `drop`.
 */
export function readBody(
  response: IncomingMessage,
  limits: BodyLimits,
  { signal, drop }: { signal: AbortSignal; drop: () => void },
): Promise<Body> {
  return new BodyReader(response, limits, drop).run(signal);
}

class BodyReader {
  readonly #response: IncomingMessage;
  readonly #drop: () => void;
  readonly #encodings: string[];
  readonly #warnings = new Set<BodyWarning>();
  readonly #whole = Promise.withResolvers<Body>();
  #decoders: Transform[] = [];
  #chunks: Buffer[] = [];
  #room: number;
  #wireRoom: number;
  #truncated = false;
  #unreadable: string | null = null;
  /** The received bytes as they were sent: the body if the decoders give nothing; decoded again if what ends in rubbish is gzip. */
  #undecoded: Buffer[] = [];
  #hasDecoded = false;
  #isSecondTry = false;
  /** The last four bytes that were sent, of gzip the length of its last member, and how many were sent and decoded. */
  #lastBytes: Buffer = Buffer.alloc(0);
  #sentBytes = 0;
  #decodedBytes = 0;
  #undecodedRoom: number;
  /** The Content-Length that the bytes which came did not reach. */
  #lengthMissed: number | null = null;
  #inputOver = false;
  #over = false;

  constructor(response: IncomingMessage, limits: BodyLimits, drop: () => void) {
    this.#response = response;
    this.#drop = drop;
    this.#room = limits.bodyBytesMax;
    this.#wireRoom = limits.wireBytesMax;
    this.#undecodedRoom = limits.bodyBytesMax;
    this.#encodings = encodingsOf(response);
    if (!this.#encodings.every(isKnown) || this.#encodings.length > layersMax) {
      this.#encodings = [];
      this.#warnings.add('content_encoding_unknown');
    }
  }

  async run(signal: AbortSignal): Promise<Body> {
    const stop = (): void => {
      const timely = signal.reason instanceof HttpError && signal.reason.reason === 'timeout';
      if (timely) this.#cut('timeout_while_reading');
      else this.#whole.reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#response
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .once('end', () => this.#endInput())
      .once('close', () => this.#response.readableEnded || this.#breakOff());
    if (this.#response.closed && !this.#response.readableEnded) this.#breakOff();
    if (signal.aborted) stop();
    try {
      return await this.#whole.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#over = true;
      if (!this.#response.readableEnded) this.#drop();
      for (const decoder of this.#decoders) decoder.destroy();
    }
  }

  #take(chunk: Buffer): void {
    if (this.#over || this.#inputOver) return;
    const piece = chunk.subarray(0, this.#wireRoom);
    this.#wireRoom -= piece.length;
    if (this.#encodings.length > 0 && this.#decoders.length === 0 && piece.length > 0) this.#openDecoders(piece);
    const [first] = this.#decoders;
    if (!first) this.#keep(piece);
    else {
      this.#rememberUndecoded(piece);
      if (!first.write(piece)) {
        this.#response.pause();
        first.once('drain', () => this.#response.resume());
      }
    }
    if (piece.length < chunk.length) this.#cut('truncated_at_max_wire_bytes');
  }

  #openDecoders(start: Buffer): void {
    // The last one named was put on last and comes off first.
    this.#decoders = this.#encodings.toReversed().map((encoding, layer) => decoderOf(encoding, layer === 0 ? start : null));
    for (const [at, decoder] of this.#decoders.entries()) {
      const next = this.#decoders[at + 1];
      decoder.on('error', (error) => (isEarlyEnd(error) ? this.#endEarly(next) : this.#decoderFailed()));
      if (next) decoder.pipe(next);
      else decoder.on('data', (chunk: Buffer) => this.#decoded(chunk)).once('end', () => this.#endDecoding());
    }
  }

  /** Says what browsers would not show of a body that is decoded to its end. */
  #endDecoding(): void {
    const [first] = this.#decoders;
    // What stands behind the compressed data is not decoded, such as the second of two zstd frames.
    const hasRest = first !== undefined && 'bytesWritten' in first && Number(first.bytesWritten) < this.#sentBytes;
    // Of several members all are decoded, and browsers show the first one. The last one says its own length alone.
    const hasMembers = this.#isGzip && this.#lastBytes.length === 4 && this.#lastBytes.readUInt32LE() !== this.#decodedBytes % 2 ** 32;
    if (!this.#truncated && (hasRest || hasMembers)) this.#warnings.add('content_decoding_failed');
    this.#finish();
  }

  #rememberUndecoded(piece: Buffer): void {
    this.#sentBytes += piece.length;
    this.#lastBytes = Buffer.concat([
      this.#lastBytes.subarray(Math.max(0, this.#lastBytes.length + Math.min(piece.length, 4) - 4)),
      piece.subarray(-4),
    ]);
    if (this.#undecodedRoom < 0 || (this.#hasDecoded && !this.#isGzip)) return;
    this.#undecoded.push(piece);
    this.#undecodedRoom -= piece.length;
  }

  #decoded(chunk: Buffer): void {
    this.#hasDecoded = true;
    this.#decodedBytes += chunk.length;
    if (!this.#isGzip) this.#undecoded = [];
    this.#keep(chunk);
  }

  #keep(chunk: Buffer): void {
    if (this.#over) return;
    const piece = chunk.subarray(0, this.#room);
    this.#room -= piece.length;
    this.#chunks.push(piece);
    if (piece.length === chunk.length) return;
    this.#truncated = true;
    this.#warnings.add('truncated_at_max_bytes');
    this.#finish();
  }

  /** The connection ended before the body. */
  #breakOff(): void {
    if (this.#over || this.#inputOver) return;
    const isChunked = this.#response.headers['transfer-encoding'] !== undefined;
    this.#unreadable = isChunked ? 'net::ERR_INCOMPLETE_CHUNKED_ENCODING' : 'net::ERR_CONTENT_LENGTH_MISMATCH';
    this.#lengthMissed = Number(this.#response.headers['content-length']);
    this.#cut('body_truncated');
  }

  /** Ends compressed data that end too early: browsers show what there is of them. */
  #endEarly(next: Transform | undefined): void {
    if (!this.#truncated) this.#warnings.add('body_truncated');
    this.#truncated = true;
    if (next) next.end();
    else this.#finish();
  }

  /** No more of the body will come: what there is is decoded to its end. */
  #cut(warning: BodyWarning): void {
    if (this.#over || this.#inputOver) return;
    this.#truncated = true;
    this.#warnings.add(warning);
    this.#drop();
    this.#endInput();
  }

  #endInput(): void {
    if (this.#inputOver) return;
    this.#inputOver = true;
    const [first] = this.#decoders;
    if (first) first.end();
    else this.#finish();
  }

  #decoderFailed(): void {
    if (this.#over) return;
    if (this.#decodeFirstMember()) return;
    const undecoded = this.#undecoded;
    this.#unreadable = 'net::ERR_CONTENT_DECODING_FAILED';
    if (this.#hasDecoded || this.#isSecondTry) {
      this.#truncated = true;
      this.#warnings.add('content_decoding_failed');
      this.#finish();
      return;
    }
    for (const decoder of this.#decoders.splice(0)) decoder.destroy();
    this.#encodings.length = 0;
    this.#warnings.add('content_encoding_mismatch');
    for (const piece of undecoded) this.#keep(piece);
    if (this.#inputOver) this.#finish();
    else this.#response.resume();
  }

  /**
   * Decodes the first part alone of what is gzip and then something else, or has a wrong checksum: browsers show that.
   * Returns false where there is nothing to decode.
   */
  #decodeFirstMember(): boolean {
    if (!this.#isGzip || this.#isSecondTry || this.#undecodedRoom < 0) return false;
    const packed = Buffer.concat(this.#undecoded);
    const start = gzipHeadLength(packed);
    if (start === null) return false;
    this.#isSecondTry = true;
    this.#drop();
    this.#inputOver = true;
    this.#warnings.add('content_decoding_failed');
    this.#room += this.#chunks.reduce((sum, { length }) => sum + length, 0);
    this.#chunks = [];
    this.#hasDecoded = false;
    for (const decoder of this.#decoders.splice(0)) decoder.destroy();
    const decoder = createInflateRaw({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH });
    this.#decoders = [decoder];
    decoder
      .on('error', () => this.#decoderFailed())
      .on('data', (chunk: Buffer) => this.#decoded(chunk))
      .once('end', () => {
        // Broken data may look like an end: the member says how long it is.
        const size = packed.subarray(start + decoder.bytesWritten).subarray(4, 8);
        const receivedBytes = this.#chunks.reduce((sum, { length }) => sum + length, 0);
        this.#truncated ||= size.length < 4 || size.readUInt32LE() !== receivedBytes % 2 ** 32;
        this.#finish();
      })
      .end(packed.subarray(start));
    return true;
  }

  get #isGzip(): boolean {
    return this.#encodings.length === 1 && /^(x-)?gzip$/.test(this.#encodings[0] ?? '');
  }

  #finish(): void {
    this.#over = true;
    // Some servers send the length that the body has without its compression: browsers take such a body for whole.
    if (this.#decodedBytes > 0 && this.#decodedBytes === this.#lengthMissed) {
      this.#truncated = false;
      this.#warnings.delete('body_truncated');
    }
    const bytes = Buffer.concat(this.#chunks);
    const isShown = bytes.length > 0 && !this.#warnings.has('content_encoding_mismatch');
    const unreadable = isShown ? null : this.#unreadable;
    this.#whole.resolve({ bytes, truncated: this.#truncated, warnings: [...this.#warnings], unreadable });
  }
}

const encodingsOf = (response: IncomingMessage): string[] =>
  (response.headers['content-encoding'] ?? '')
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity');

const isKnown = (encoding: string): boolean => ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(encoding);

const isEarlyEnd = (error: Error): boolean => 'code' in error && error.code === 'Z_BUF_ERROR';

/** Decoders that give all they can at each step, as browsers do: a body cut short is still worth reading. */
function decoderOf(encoding: string, start: Buffer | null): Transform {
  const lenient = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_FINISH };
  if (encoding === 'br')
    return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FINISH });
  if (encoding === 'zstd') {
    const params = { [constants.ZSTD_d_windowLogMax]: zstdWindowBits };
    return createZstdDecompress({ flush: constants.ZSTD_e_flush, finishFlush: constants.ZSTD_e_end, params });
  }
  if (encoding !== 'deflate') return createGunzip(lenient);
  return start === null || hasZlibHead(start) ? createInflate(lenient) : createInflateRaw(lenient);
}

/** The length of the head of a gzip member (RFC 1952, 2.3); null where there is none. */
function gzipHeadLength(bytes: Buffer): number | null {
  if (bytes.length < 10 || bytes.readUInt16BE(0) !== 0x1f8b || bytes[2] !== 8) return null;
  const flags = bytes[3] ?? 0;
  let at = 10;
  if (flags & 0x04) at += 2 + (bytes.length >= at + 2 ? bytes.readUInt16LE(at) : 0);
  // Name and comment end with a zero.
  for (const flag of [0x08, 0x10]) {
    if (!(flags & flag)) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return null;
    at = end + 1;
  }
  return flags & 0x02 ? at + 2 : at;
}

/** `deflate` means zlib's format (RFC 1950), and many servers send it without its head. */
function hasZlibHead(start: Buffer): boolean {
  const [method = 0, flags] = start;
  return (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0);
}
