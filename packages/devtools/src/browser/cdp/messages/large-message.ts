/**
 * A large message of a client, read over several turns of the event loop. Its long texts, such as a script or a file, are
 * taken out of it and pass to the browser as the client wrote them; what is left is parsed and written again in turns.
 */
import { parseInParts } from '@berth/lib/json/parse.ts';
import { toJsonText } from '@berth/lib/json/text.ts';
import { inTurns, nextTurn, SliceSize } from '@berth/lib/turns/turn-budget.ts';
import { idAtHead, paramsDepthMax, toMessage, type ClientMessage, type MessageError } from './client-message.ts';
import { addressNames } from '../clients/client-rules.ts';
import { LongTexts } from './long-texts.ts';

/** Smaller ones are parsed where they are read, in less than two milliseconds. */
export const largeBytesMin = 256 * 1024;
/** A shorter text is cheaper to parse than to take out. */
const longTextBytesMin = 4096;
/** Maximum bytes of what is left, which is held as values. */
const restBytesMax = 16 * 1024 * 1024;
/** A large argument is better passed as text: an object for each value takes a hundred times the bytes, and seconds. */
const valuesMax = 200_000;
/** The browser takes no address above 2 MiB, and rules read addresses. */
const addressBytesMax = 4 * 1024 * 1024;
/** Bytes that are read in a turn, in about a millisecond. */
const sliceBytes = 1024 * 1024;
/** A message is two levels deeper than its params. */
const depthMax = paramsDepthMax + 2;

const quote = 0x22;
const backslash = 0x5c;
/** Whether a byte outside of strings opens or follows a value. */
const opensValue = (byte: number): boolean => byte === 0x2c || byte === 0x5b || byte === 0x7b;
/** The bytes that JSON allows after a backslash. */
const escapes = new Set(Buffer.from('"\\/bfnrtu'));

/** The message without its long texts, or the error for it. Never rejects. */
export async function parseLargeMessage(received: string | Buffer): Promise<ClientMessage | MessageError> {
  const raw = typeof received === 'string' ? Buffer.from(received) : received;
  const texts = new LongTexts();
  const reader = new Reader(raw, texts);
  const slice = new SliceSize({ first: sliceBytes });
  while (!reader.isDone) {
    const message = slice.next((bytes) => reader.read(bytes));
    if (message !== null) return { id: idAtHead(raw), code: message === notJson ? -32700 : -32600, message };
    if (!reader.isDone) await nextTurn();
  }
  const message = await parseRest(reader.rest());
  if ('code' in message) return message;
  for (const value of Object.values(message.params)) await writeAhead(value, texts);
  return withAddresses({ ...message, texts }, texts);
}

async function parseRest(rest: Buffer): Promise<ClientMessage | MessageError> {
  try {
    return toMessage(await inTurns(parseInParts(rest, depthMax)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { code: -32700, message: notJson };
  }
}

/**
 * Writes a list or an object of params again in turns, with its long texts. The browser gets that as long as rules leave the
 * value as it is: a copy of it is written from what it has.
 */
async function writeAhead(value: unknown, texts: LongTexts): Promise<void> {
  if (typeof value !== 'object' || value === null) return;
  const json = (await toJsonText(value)).slice(0, -1);
  const mark = texts.addParts(await inTurns(texts.fillInParts(json)));
  Object.defineProperty(value, 'toJSON', { value: () => mark });
}

const notJson = 'JSON: the message cannot be parsed';

class Reader {
  readonly #raw: Buffer;
  readonly #texts: LongTexts;
  /** The parts of the message that are left, up to `#takenTo`. */
  readonly #parts: (string | Buffer)[] = [];
  #restBytes = 0;
  #takenTo = 0;
  #at = 0;
  #values = 0;
  /** The start of the string that `#at` is in; -1 outside. */
  #stringAt = -1;

  constructor(raw: Buffer, texts: LongTexts) {
    this.#raw = raw;
    this.#texts = texts;
  }

  get isDone(): boolean {
    return this.#at >= this.#raw.length;
  }

  /** Reads on for so many bytes. Returns what is wrong with the message; null: nothing so far. */
  read(bytes: number): string | null {
    const end = Math.min(this.#raw.length, this.#at + bytes);
    while (this.#at < end) {
      const message = this.#stringAt < 0 ? this.#readValues(end) : this.#readString(end);
      if (message !== null) return message;
    }
    if (this.#restBytes + (this.#stringAt < 0 ? this.#at : this.#stringAt) - this.#takenTo > restBytesMax)
      return `Message has more than ${restBytesMax} bytes beside its long texts`;
    return null;
  }

  rest(): Buffer {
    this.#parts.push(this.#raw.subarray(this.#takenTo));
    return Buffer.concat(this.#parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  }

  #readValues(end: number): string | null {
    let at = this.#at;
    for (; at < end; at += 1) {
      const byte = this.#raw[at] as number;
      if (byte === quote) {
        this.#stringAt = at;
        at += 1;
        break;
      }
      if (opensValue(byte) && (this.#values += 1) > valuesMax) return `Message has more than ${valuesMax} values`;
    }
    this.#at = at;
    return null;
  }

  #readString(end: number): string | null {
    let at = this.#at;
    for (; at < end; at += 1) {
      const byte = this.#raw[at] as number;
      if (byte < 0x20) return notJson;
      if (byte === backslash && !escapes.has(this.#raw[(at += 1)] ?? 0)) return notJson;
      if (byte !== quote) continue;
      this.#take(this.#stringAt, at + 1);
      this.#stringAt = -1;
      at += 1;
      break;
    }
    this.#at = at;
    return null;
  }

  #take(from: number, to: number): void {
    if (to - from < longTextBytesMin) return;
    const before = this.#raw.subarray(this.#takenTo, from);
    this.#parts.push(before, this.#texts.add(this.#raw.subarray(from, to)));
    this.#restBytes += before.length;
    this.#takenTo = to;
  }
}

/** Rules read the addresses of a message, so those are part of it whatever their length. */
function withAddresses(message: ClientMessage, texts: LongTexts): ClientMessage | MessageError {
  const params = { ...message.params };
  for (const name of addressNames) {
    const text = texts.get(params[name]);
    if (!text) continue;
    if (text.length > addressBytesMax)
      return { id: message.id, code: -32600, message: `'${name}' is longer than ${addressBytesMax} bytes` };
    try {
      params[name] = JSON.parse(text.toString('utf8'));
    } catch {
      return { id: message.id, code: -32700, message: notJson };
    }
  }
  return { ...message, params };
}
