/**
 * What a guest costs by how it says things, whatever it says. It chooses how
 * its bytes are cut, and each piece costs some microseconds and some hundred
 * bytes however small it is; and it may send frames that mean nothing at all.
 */
import type { Duplex } from 'node:stream';

/** Streams at rest hold none; those of a page that sends to sites which do not read, some thousands. */
const heldPiecesMax = 65_536;
/** Takes a quarter of a processor. In good pieces it is more than a gigabyte. */
const piecesPerSecondMax = 100_000;
/** What is no content of a stream: nine bytes of each piece, all frames that are none, and what was on its way to a stream that was closed meanwhile: the windows of sixty streams at once. */
const noiseBytesMax = 64 * 1024 ** 2;
const noiseForgivenPerSecond = 2 * 1024 ** 2;
const lookMs = 1000;

export class Intake {
  readonly #port: Duplex & { bytesRead?: number };
  readonly #onPassed: (limit: string) => void;
  readonly #timer: NodeJS.Timeout;
  #heldPieces = 0;
  #pieces = 0;
  #contentBytes = 0;
  #noiseBytes = 0;
  #looked = { ms: performance.now(), pieces: 0, bytes: 0 };

  constructor(port: Duplex, onPassed: (limit: string) => void) {
    this.#port = port;
    this.#onPassed = onPassed;
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  /** A piece has come, and is held until it is let go. */
  hold(bytes: number): void {
    this.#contentBytes += bytes;
    this.#pieces += 1;
    this.#heldPieces += 1;
    if (this.#heldPieces > heldPiecesMax) this.#onPassed('a flood of tiny pieces');
  }

  letGo(pieces: number): void {
    this.#heldPieces -= pieces;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const ms = performance.now();
    const seconds = (ms - this.#looked.ms) / 1000;
    const bytes = (this.#port.bytesRead ?? 0) - this.#contentBytes;
    this.#noiseBytes = Math.max(0, this.#noiseBytes + bytes - this.#looked.bytes - noiseForgivenPerSecond * seconds);
    if (this.#noiseBytes > noiseBytesMax) this.#onPassed('a flood of frames without content');
    if ((this.#pieces - this.#looked.pieces) / seconds > piecesPerSecondMax) this.#onPassed('a flood of tiny pieces');
    this.#looked = { ms, pieces: this.#pieces, bytes };
  }
}
