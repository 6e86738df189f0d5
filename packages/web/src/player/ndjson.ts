/** A line that is longer than this is no line of ours. */
const lineBytesMax = 1024 * 1024;
const lineFeed = 10;

/** Reads a text of JSON lines that comes in pieces, however they are cut. What is no JSON is left out. */
export class NdjsonReader<T> {
  readonly #decoder = new TextDecoder();
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #bytes = 0;

  /** How many bytes have come: where the next piece begins. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The lines that this piece completes. */
  push(piece: Uint8Array): T[] {
    this.#bytes += piece.byteLength;
    const found: T[] = [];
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end !== -1; end = piece.indexOf(lineFeed, from)) {
      const line = this.#complete(piece.subarray(from, end));
      if (line !== undefined) found.push(line);
      from = end + 1;
    }
    this.#keep(piece.slice(from));
    return found;
  }

  #keep(part: Uint8Array): void {
    this.#restBytes += part.byteLength;
    if (this.#restBytes <= lineBytesMax) this.#rest.push(part);
    else this.#rest = [];
  }

  #complete(end: Uint8Array): T | undefined {
    const isTooLong = this.#restBytes > lineBytesMax;
    const text = [...this.#rest.map((part) => this.#decoder.decode(part, { stream: true })), this.#decoder.decode(end)].join('');
    this.#rest = [];
    this.#restBytes = 0;
    if (isTooLong || text.trim() === '') return undefined;
    try {
      return JSON.parse(text) as T;
    } catch {
      return undefined;
    }
  }
}
