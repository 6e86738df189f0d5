import { section } from '../turns/sections.ts';
import { inTurns } from '../turns/turn-budget.ts';

/** Characters that are written at once: within a millisecond where each of them needs an escape. */
const sliceChars = 256 * 1024;
/** A value is written at once up to this weight: a value weighs 1, and a string 1 for each 64 characters as well. */
const weightMax = 4096;
const charsPerWeight = 64;
/** Depth below which `JSON.stringify` writes a value as it can: responses are not nested so deeply. */
const depthMax = 1000;

/** The text would be longer than it may be. */
export class JsonTooLongError extends Error {}

/**
 * `JSON.stringify` of a response and a newline, with pauses for other work where it is large:
 * a page of 9 MB takes a tenth of a second, and so do 300,000 values.
 *
 * @throws JsonTooLongError before the whole of it was written
 */
export async function toJsonText(value: unknown, charsMax = Infinity): Promise<string> {
  if (weigh(value, weightMax, depthMax) <= weightMax) {
    const text = stringify(value);
    if (text.length > charsMax) throw new JsonTooLongError();
    return `${text}\n`;
  }
  const parts: string[] = [];
  let chars = 0;
  await inTurns(
    write(value, depthMax, (part) => {
      chars += part.length;
      if (chars > charsMax) throw new JsonTooLongError();
      parts.push(part);
    }),
  );
  parts.push('\n');
  return parts.join('');
}

type Add = (part: string) => void;

const stringify = (value: unknown): string => section('respond', () => JSON.stringify(value));

/** Whether a value is written in parts. One with a `toJSON` is written by it, at once. */
const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('toJSON' in value && typeof value.toJSON === 'function');

/** The weight of a value, at least: counting stops at more than `max`. */
function weigh(value: unknown, max: number, depth: number): number {
  if (typeof value === 'string') return 1 + value.length / charsPerWeight;
  if (!isContainer(value) || depth === 0) return 1;
  let weight = 1;
  if (Array.isArray(value))
    for (let at = 0; at < value.length && weight <= max; at += 1) weight += weigh(value[at], max - weight, depth - 1);
  else
    for (const name in value) {
      weight += 1 + name.length / charsPerWeight + weigh((value as Record<string, unknown>)[name], max - weight, depth - 1);
      if (weight > max) break;
    }
  return weight;
}

function* write(value: unknown, depth: number, add: Add): Generator<void> {
  if (typeof value === 'string') return yield* writeText(value, add);
  if (!isContainer(value) || depth === 0 || weigh(value, weightMax, depth) <= weightMax) return add(stringify(value));
  if (Array.isArray(value)) return yield* writeList(value, depth, add);
  let separator = '{';
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined || typeof field === 'function' || typeof field === 'symbol') continue;
    add(separator);
    yield* writeText(name, add);
    add(':');
    yield* write(field, depth - 1, add);
    separator = ',';
  }
  add(separator === '{' ? '{}' : '}');
}

/** Elements that are small are written together. */
function* writeList(list: readonly unknown[], depth: number, add: Add): Generator<void> {
  let [from, weight] = [0, 0];
  let separator = '[';
  const flush = (to: number): void => {
    if (to === from) return;
    add(separator + stringify(list.slice(from, to)).slice(1, -1));
    separator = ',';
  };
  for (let at = 0; at < list.length; at += 1) {
    const own = weigh(list[at], weightMax, depth - 1);
    if (weight + own > weightMax) {
      flush(at);
      yield;
      [from, weight] = [at, 0];
    }
    weight += own;
    if (own <= weightMax) continue;
    add(separator);
    separator = ',';
    yield* write(list[at], depth - 1, add);
    [from, weight] = [at + 1, 0];
  }
  flush(list.length);
  add(']');
}

function* writeText(text: string, add: Add): Generator<void> {
  if (text.length <= sliceChars) {
    yield;
    return add(stringify(text));
  }
  add('"');
  for (let at = 0; at < text.length;) {
    const end = endOfSlice(text, at + sliceChars);
    add(stringify(text.slice(at, end)).slice(1, -1));
    at = end;
    yield;
  }
  add('"');
}

/** The end of a slice, never between the halves of a surrogate pair, each of which would be escaped. */
function endOfSlice(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last < 0xdc00 ? end + 1 : end;
}
