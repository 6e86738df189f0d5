/** `JSON.parse` with pauses for other work: a hundred thousand values, or megabytes of short ones, take longer than a turn may. */
import { SliceSize } from '../turns/turn-budget.ts';

/** Values that are read between two pauses, in about a millisecond. */
const valuesFirst = 2000;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
/** What a number, `true`, `false` or `null` consists of. */
const isWordByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  (byte >= 0x41 && byte <= 0x5a);

/**
 * Reads UTF-8 text that is JSON, for `inTurns`.
 *
 * @throws SyntaxError also where containers are nested deeper than `depthMax`
 */
export function* parseInParts(text: Buffer, depthMax: number): Generator<void, unknown> {
  const reader = new JsonCursor(text, depthMax);
  const slice = new SliceSize({ first: valuesFirst });
  while (!slice.next((values) => reader.read(values))) yield;
  return reader.value;
}

interface Container {
  value: unknown[] | Record<string, unknown>;
  /** The key whose value comes next. */
  key: string;
}

class JsonCursor {
  readonly #text: Buffer;
  readonly #depthMax: number;
  readonly #open: Container[] = [];
  #at = 0;
  #isDone = false;
  value: unknown;

  constructor(text: Buffer, depthMax: number) {
    this.#text = text;
    this.#depthMax = depthMax;
  }

  /** Reads so many values. Returns whether all of the text is read. */
  read(values: number): boolean {
    for (let left = values; left > 0 && !this.#isDone; left -= 1) this.#readValue();
    return this.#isDone;
  }

  #readValue(): void {
    const byte = this.#next();
    if (byte === openArray || byte === openObject) return this.#begin(byte);
    const start = this.#at;
    if (byte === quote) this.#skipString();
    else while (this.#at < this.#text.length && isWordByte(this.#text[this.#at] as number)) this.#at += 1;
    this.#add(this.#parse(start));
    this.#afterValue();
  }

  #begin(byte: number): void {
    if (this.#open.length >= this.#depthMax) throw new SyntaxError('the JSON is nested too deep');
    this.#at += 1;
    const value: Container['value'] = byte === openArray ? [] : {};
    this.#add(value);
    this.#open.push({ value, key: '' });
    if (this.#next() === (byte === openArray ? closeArray : closeObject)) this.#afterValue();
    else if (byte === openObject) this.#readKey();
  }

  /** Ends the containers that end here, and goes to the next value. */
  #afterValue(): void {
    for (let at = this.#open.at(-1); at; at = this.#open.at(-1)) {
      const byte = this.#next();
      this.#at += 1;
      const isList = Array.isArray(at.value);
      if (byte === comma) return isList ? undefined : this.#readKey();
      if (byte !== (isList ? closeArray : closeObject)) throw new SyntaxError('the JSON has no comma or end where one is due');
      this.#open.pop();
    }
    if (this.#next() !== undefined) throw new SyntaxError('the JSON has text behind its end');
    this.#isDone = true;
  }

  #readKey(): void {
    if (this.#next() !== quote) throw new SyntaxError('the JSON has no key where one is due');
    const start = this.#at;
    this.#skipString();
    (this.#open.at(-1) as Container).key = this.#parse(start) as string;
    if (this.#next() !== colon) throw new SyntaxError('the JSON has no colon behind a key');
    this.#at += 1;
  }

  #add(value: unknown): void {
    const into = this.#open.at(-1);
    if (!into) this.value = value;
    else if (Array.isArray(into.value)) into.value.push(value);
    // As JSON.parse has it; an assignment would set the prototype.
    else if (into.key === '__proto__')
      Object.defineProperty(into.value, into.key, { value, enumerable: true, configurable: true, writable: true });
    else into.value[into.key] = value;
  }

  #parse(start: number): unknown {
    return JSON.parse(this.#text.toString('utf8', start, this.#at));
  }

  #next(): number | undefined {
    while (isSpace(this.#text[this.#at])) this.#at += 1;
    return this.#text[this.#at];
  }

  #skipString(): void {
    let at = this.#at + 1;
    while (at < this.#text.length && this.#text[at] !== quote) at += this.#text[at] === backslash ? 2 : 1;
    this.#at = Math.min(at + 1, this.#text.length);
  }
}
