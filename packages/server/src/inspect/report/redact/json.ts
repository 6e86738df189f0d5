/** Reads the strings and numbers of JSON with where they stand, also of JSON that is cut, invalid or nested without end. */
import { charClass } from './runs.ts';

export interface JsonScalar {
  /** The nearest key: of an element of an array, the array's. In `{"name":"a","value":"b"}`, `a` for `b`. */
  name: string | null;
  /** Between the quotes, encoded. */
  start: number;
  end: number;
  isString: boolean;
}

const namingKeys = new Set(['name', 'key', 'id', 'field']);
const valueKeys = new Set(['value', 'val']);

interface Frame {
  isObject: boolean;
  /** In an object, the current key; in an array, the name that its elements inherit. */
  key: string | null;
  /** Value of a key such as `name` in this object. */
  named: string | null;
}

const [quote, minus, zero, nine] = [34, 45, 48, 57];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
const numberChars = charClass(/[\d.eE+-]/);

/** Calls `visit` for each string and number that is a value. */
export function readJson(text: string, visit: (scalar: JsonScalar) => void): void {
  const frames: Frame[] = [];
  const keys: string[] = [];
  let frame: Frame = { isObject: false, key: null, named: null };
  const nameOf = (): string | null => (frame.key !== null && frame.named !== null && valueKeys.has(frame.key) ? frame.named : frame.key);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === openBrace || code === openBracket) {
      frames.push(frame);
      frame = { isObject: code === openBrace, key: code === openBrace ? null : nameOf(), named: null };
    } else if (code === closeBrace || code === closeBracket) frame = frames.pop() ?? frame;
    else if (code >= zero && code <= nine) {
      const start = text.charCodeAt(at - 1) === minus ? at - 1 : at;
      while (at + 1 < text.length && numberChars[text.charCodeAt(at + 1)] === 1) at += 1;
      visit({ name: nameOf(), start, end: at + 1, isString: false });
    } else if (code === quote) {
      const start = at + 1;
      const end = endOfString(text, start);
      at = end;
      if (frame.isObject && isKey(text, end + 1)) {
        frame.key = keyAt(text, { start, end }, keys);
      } else {
        if (frame.isObject && frame.named === null && namingKeys.has(frame.key ?? '') && end - start <= 80)
          frame.named = text.slice(start, end);
        visit({ name: nameOf(), start, end, isString: true });
      }
    }
  }
}

const keysMax = 512;

/** The same string for the same key, which most objects of a list have: who looks it up hashes it once. */
function keyAt(text: string, { start, end }: { start: number; end: number }, keys: string[]): string {
  const slot = ((end - start) * 31 + text.charCodeAt(start) * 7 + text.charCodeAt(end - 1)) % keysMax;
  const known = keys[slot];
  if (known?.length === end - start && text.startsWith(known, start)) return known;
  return (keys[slot] = text.slice(start, end));
}

/** Where the closing quote stands, or the end of a text that is cut. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (end - 1 - slashes >= start && text.charCodeAt(end - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function isKey(text: string, from: number): boolean {
  let i = from;
  while (i < text.length && i - from < 64 && text.charCodeAt(i) <= 32) i += 1;
  return text.charCodeAt(i) === 58;
}

/** The text of an encoded string; as it stands where its escapes are invalid. */
export function unescaped(encoded: string): string {
  if (!encoded.includes('\\')) return encoded;
  try {
    return JSON.parse(`"${encoded}"`) as string;
  } catch {
    return encoded;
  }
}
