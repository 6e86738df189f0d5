import { setImmediate as pause } from 'node:timers/promises';
import { section } from './sections.ts';

/** Written at once: some milliseconds where each character needs an escape. */
const sliceChars = 1024 * 1024;
/** Objects in objects that are looked into for long strings. */
const depthMax = 3;

/**
 * `JSON.stringify` of a response and a newline, with pauses for other work where it holds long
 * strings: a page of 9 MB takes a tenth of a second.
 */
export async function toJsonText(value: unknown): Promise<string> {
  if (!hasLongText(value, depthMax)) return `${stringify(value)}\n`;
  const parts: string[] = [];
  await write(value, depthMax, parts);
  parts.push('\n');
  return parts.join('');
}

const stringify = (value: unknown): string => section('respond', () => JSON.stringify(value));

function hasLongText(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.length > sliceChars;
  if (depth === 0 || !isPlainObject(value)) return false;
  for (const name in value) if (hasLongText(value[name], depth - 1)) return true;
  return false;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('toJSON' in value);

async function write(value: unknown, depth: number, parts: string[]): Promise<void> {
  if (!hasLongText(value, depth)) return void parts.push(stringify(value));
  if (typeof value === 'string') return writeText(value, parts);
  const fields = Object.entries(value as Record<string, unknown>).filter(([, field]) => field !== undefined && typeof field !== 'function');
  let separator = '{';
  for (const [name, field] of fields) {
    parts.push(`${separator}${JSON.stringify(name)}:`);
    await write(field, depth - 1, parts);
    separator = ',';
  }
  parts.push('}');
}

async function writeText(text: string, parts: string[]): Promise<void> {
  parts.push('"');
  for (let at = 0; at < text.length;) {
    const end = endOfSlice(text, at + sliceChars);
    parts.push(stringify(text.slice(at, end)).slice(1, -1));
    at = end;
    await pause();
  }
  parts.push('"');
}

/** Never between the halves of a surrogate pair, each of which would be escaped. */
function endOfSlice(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last < 0xdc00 ? end + 1 : end;
}
