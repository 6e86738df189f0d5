/** Longer than any line of the service. */
const lineBytesMax = 1024 * 1024;
const lineFeed = 10;

/** Parses NDJSON that arrives in chunks. Invalid lines are skipped. */
export class NdjsonReader<T> {
  readonly #decoder = new TextDecoder();
  #partial: Uint8Array[] = [];
  #partialBytes = 0;
  #bytes = 0;

  /** Bytes received: the offset of the next chunk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the lines that this chunk completes. */
  push(piece: Uint8Array): T[] {
    this.#bytes += piece.byteLength;
    const parsed: T[] = [];
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end !== -1; end = piece.indexOf(lineFeed, from)) {
      const line = this.#complete(piece.subarray(from, end));
      if (line !== undefined) parsed.push(line);
      from = end + 1;
    }
    this.#appendPartial(piece.slice(from));
    return parsed;
  }

  #appendPartial(part: Uint8Array): void {
    this.#partialBytes += part.byteLength;
    if (this.#partialBytes <= lineBytesMax) this.#partial.push(part);
    else this.#partial = [];
  }

  #complete(end: Uint8Array): T | undefined {
    const isTooLong = this.#partialBytes > lineBytesMax;
    const text = [...this.#partial.map((part) => this.#decoder.decode(part, { stream: true })), this.#decoder.decode(end)].join('');
    this.#partial = [];
    this.#partialBytes = 0;
    if (isTooLong || text.trim() === '') return undefined;
    try {
      return JSON.parse(text) as T;
    } catch {
      return undefined;
    }
  }
}
