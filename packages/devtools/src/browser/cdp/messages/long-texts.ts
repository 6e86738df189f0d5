/** What is taken out of a large message, and put back. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';

/** Shorter parts are joined: each write to the browser has its price. */
const partBytesMin = 256 * 1024;

/** The long texts of a message, each with its quotes, and what was written ahead. */
export class LongTexts {
  readonly #texts: Buffer[][] = [];
  /** Nobody else can write the mark of a text. */
  readonly #nonce = randomBytes(16).toString('hex');

  /** Returns the mark as JSON. */
  add(text: Buffer): string {
    // A text that is no UTF-8 could end elsewhere for another reader.
    return `"${this.addParts([isUtf8(text) ? text : Buffer.from(text.toString('utf8'))])}"`;
  }

  /** JSON text in parts. Returns the mark as a value. */
  addParts(parts: Buffer[]): string {
    this.#texts.push(parts);
    return `${this.#nonce}:${this.#texts.length - 1}`;
  }

  /** The text that a value is the mark of; null for any other value. */
  get(value: unknown): Buffer | null {
    if (typeof value !== 'string' || !value.startsWith(`${this.#nonce}:`)) return null;
    const parts = this.#texts[Number(value.slice(this.#nonce.length + 1))];
    return parts ? Buffer.concat(parts) : null;
  }

  /** JSON text with the texts in their places again. */
  fill(json: string): (string | Buffer)[] {
    return [...this.#filled(json)].flat();
  }

  /** The same for `inTurns`, in few parts. */
  *fillInParts(json: string): Generator<void, Buffer[]> {
    const parts: Buffer[] = [];
    let short: Buffer[] = [];
    let shortBytes = 0;
    const join = (): void => {
      const [only, ...others] = short;
      if (only) parts.push(others.length > 0 ? Buffer.concat(short, shortBytes) : only);
      [short, shortBytes] = [[], 0];
    };
    for (const each of this.#filled(json))
      for (const part of typeof each === 'string' ? inSlices(each) : each) {
        if (part.length >= partBytesMin) join();
        short.push(part);
        shortBytes += part.length;
        if (shortBytes >= partBytesMin) join();
        yield;
      }
    join();
    return parts;
  }

  *#filled(json: string): Generator<string | Buffer[]> {
    const mark = `"${this.#nonce}:`;
    let at = 0;
    for (let start = json.indexOf(mark); start !== -1; start = json.indexOf(mark, at)) {
      const end = json.indexOf('"', start + mark.length);
      yield json.slice(at, start);
      yield this.#texts[Number(json.slice(start + mark.length, end))] ?? [Buffer.from('""')];
      at = end + 1;
    }
    yield json.slice(at);
  }
}

function* inSlices(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length;) {
    const end = endOfSlice(text, at + partBytesMin);
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}

/** Never between the halves of a surrogate pair. */
const endOfSlice = (text: string, end: number): number => (/[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end + 1 : end);
