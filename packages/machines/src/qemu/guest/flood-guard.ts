/**
 * Limits the cost of a guest's framing, independent of content. The guest decides
 * how its bytes are split, and each chunk costs some microseconds and some hundred
 * bytes, however small it is. It may also send frames without any content.
 */
import type { Duplex } from 'node:stream';
import type { Http2Session, SessionOptions } from 'node:http2';

/** Maximum memory of a session in MB: unsent data, and HTTP/2 state of streams and headers. */
const sessionMemoryMb = 32;
/** Our messages have three headers. Bytes count as in HPACK, plus 32 per header. */
const headerPairsMax = 16;
const headerBytesMax = 4096;

/** HTTP/2 limits shared by both connections of a guest. */
export const sessionLimits = {
  maxSessionMemory: sessionMemoryMb,
  maxHeaderListPairs: headerPairsMax,
  maxSettings: 16,
  maxOutstandingPings: 2,
  // The agent sends neither invalid frames nor streams above the limit.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: { maxHeaderListSize: headerBytesMax, headerTableSize: 4096 },
} as const satisfies SessionOptions & { maxSessionInvalidFrames: number; maxSessionRejectedStreams: number };

/** Sets the receive window of the session. Each stream also has its own, so one that is not read does not block others. */
export function openWindow(session: Http2Session, bytes: number): void {
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(bytes);
  });
}

/** Idle streams hold none; uploads to sites that do not read hold some thousands. */
const heldChunksMax = 65_536;
/** Costs a quarter of a processor. In chunks of normal size it is more than a gigabyte. */
const piecesPerSecondMax = 100_000;
/**
 * Bytes that are no stream content: frame headers, control frames, and data in flight to streams that were closed
 * meanwhile. Enough for the windows of sixty streams at once.
 */
const noiseBytesMax = 64 * 1024 ** 2;
const noiseForgivenPerSecond = 2 * 1024 ** 2;
const checkMs = 1000;

export class FloodGuard {
  readonly #port: Duplex & { bytesRead?: number };
  readonly #onExceeded: (limit: string) => void;
  readonly #timer: NodeJS.Timeout;
  #heldPieces = 0;
  #pieces = 0;
  #contentBytes = 0;
  #noiseBytes = 0;
  #checked = { ms: performance.now(), pieces: 0, bytes: 0 };

  constructor(port: Duplex, onExceeded: (limit: string) => void) {
    this.#port = port;
    this.#onExceeded = onExceeded;
    this.#timer = setInterval(() => this.#check(), checkMs).unref();
  }

  /** Counts a chunk, which is held until `release`. */
  hold(bytes: number): void {
    this.#contentBytes += bytes;
    this.#pieces += 1;
    this.#heldPieces += 1;
    if (this.#heldPieces > heldChunksMax) this.#onExceeded('a flood of tiny pieces');
  }

  release(pieces: number): void {
    this.#heldPieces -= pieces;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const ms = performance.now();
    const seconds = (ms - this.#checked.ms) / 1000;
    const bytes = (this.#port.bytesRead ?? 0) - this.#contentBytes;
    this.#noiseBytes = Math.max(0, this.#noiseBytes + bytes - this.#checked.bytes - noiseForgivenPerSecond * seconds);
    if (this.#noiseBytes > noiseBytesMax) this.#onExceeded('a flood of frames without content');
    if ((this.#pieces - this.#checked.pieces) / seconds > piecesPerSecondMax) this.#onExceeded('a flood of tiny pieces');
    this.#checked = { ms, pieces: this.#pieces, bytes };
  }
}
