/** What is taken out of a large message, and put back. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';

/** The long texts of a message, each with its quotes. */
export class LongTexts {
  readonly #texts: Buffer[] = [];
  /** Nobody else can write the mark of a text. */
  readonly #nonce = randomBytes(16).toString('hex');

  add(text: Buffer): string {
    // A text that is no UTF-8 could end elsewhere for another reader.
    this.#texts.push(isUtf8(text) ? text : Buffer.from(text.toString('utf8')));
    return `"${this.#nonce}:${this.#texts.length - 1}"`;
  }

  /** The text that a value is the mark of; null for any other value. */
  get(value: unknown): Buffer | null {
    if (typeof value !== 'string' || !value.startsWith(`${this.#nonce}:`)) return null;
    return this.#texts[Number(value.slice(this.#nonce.length + 1))] ?? null;
  }

  /** JSON text with the texts in their places again. */
  fill(json: string): (string | Buffer)[] {
    const mark = `"${this.#nonce}:`;
    const [first = '', ...rest] = json.split(mark);
    return [first, ...rest.flatMap((part) => this.#fillOne(part))];
  }

  #fillOne(part: string): (string | Buffer)[] {
    const end = part.indexOf('"');
    return [this.#texts[Number(part.slice(0, end))] ?? '""', part.slice(end + 1)];
  }
}
