/**
 * A body in chunks as Chromium reads it, written as every parser of HTTP reads it.
 *
 * Node's parser refuses framings that browsers accept, such as lines that end with a line feed alone, and accepts some
 * that they refuse, such as chunks without a line break behind them.
 */

/** Maximum bytes of a line between chunks: as much as Chromium reads. */
const lineBytesMax = 16 * 1024;
/** Maximum bytes of extensions and trailers, more than any site sends: they are no part of the body that limits count. */
const ignoredBytesMax = 1024 * 1024;

const lineFeed = 0x0a;
const lastChunk = Buffer.from('0\r\n\r\n');
/** No size: the parser keeps what came before it, and reports a body that broke off. */
const invalidChunk = Buffer.from('invalid\r\n');

export class ReplyChunks {
  /** What the next bytes are. Nothing is read of a body that is over or broken. */
  #next: 'size' | 'data' | 'chunk_end' | 'trailers' | 'over' | 'broken' = 'size';
  /** Bytes of the chunk that have not come. */
  #left = 0;
  /** The start of a line whose end has not come. */
  #line = '';
  #ignoredBytes = 0;

  /** Returns the same part of the body in chunks of its own. What comes after the last chunk stays as it is. */
  rewrite(bytes: Buffer): Buffer[] {
    if (this.#isOver) return this.#next === 'over' ? [bytes] : [];
    const data: Buffer[] = [];
    let at = 0;
    while (at < bytes.length && !this.#isOver)
      at += this.#next === 'data' ? this.#readData(bytes.subarray(at), data) : this.#readLine(bytes.subarray(at));
    const size = data.reduce((sum, { length }) => sum + length, 0);
    const chunk = size > 0 ? [Buffer.from(`${size.toString(16)}\r\n`), ...data, Buffer.from('\r\n')] : [];
    if (this.#next === 'over') return [...chunk, lastChunk, bytes.subarray(at)];
    return this.#next === 'broken' ? [...chunk, invalidChunk] : chunk;
  }

  get #isOver(): boolean {
    return this.#next === 'over' || this.#next === 'broken';
  }

  #readData(bytes: Buffer, data: Buffer[]): number {
    const piece = bytes.subarray(0, this.#left);
    data.push(piece);
    this.#left -= piece.length;
    if (this.#left === 0) this.#next = 'chunk_end';
    return piece.length;
  }

  #readLine(bytes: Buffer): number {
    const end = bytes.indexOf(lineFeed);
    const length = end < 0 ? bytes.length : end;
    if (this.#line.length + length > lineBytesMax) this.#next = 'broken';
    else {
      this.#line += bytes.toString('latin1', 0, length);
      if (end >= 0) this.#endLine();
    }
    return length + 1;
  }

  #endLine(): void {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    if (this.#next === 'size') this.#readSize(line);
    else if (this.#next === 'chunk_end') this.#next = line === '' ? 'size' : 'broken';
    else if (line === '') this.#next = 'over';
    else this.#ignore(line.length);
  }

  #readSize(line: string): void {
    const semicolon = line.indexOf(';');
    const digits = /^([\da-f]+) *$/i.exec(semicolon < 0 ? line : line.slice(0, semicolon))?.[1];
    this.#left = digits === undefined ? NaN : Number.parseInt(digits, 16);
    if (!Number.isSafeInteger(this.#left)) this.#next = 'broken';
    else this.#next = this.#left > 0 ? 'data' : 'trailers';
    if (semicolon >= 0) this.#ignore(line.length - semicolon);
  }

  #ignore(count: number): void {
    this.#ignoredBytes += count;
    if (this.#ignoredBytes > ignoredBytesMax) this.#next = 'broken';
  }
}
