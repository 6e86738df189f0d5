/**
 * Reads JSON more strictly than JSON.parse, whose answers to some texts are traps:
 * of two equal keys the first vanishes, `__proto__` becomes a key that merges
 * badly, and a text of brackets alone makes a tree that later recursion dies of.
 */
export type JsonReading = { ok: true; value: unknown } | { ok: false; problem: string } | { ok: false; forbiddenKey: string[] };

/** Deeper than any request of ours, and far from what the stack of a recursive reader holds. */
const depthMax = 64;

export function readJson(text: string): JsonReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'not valid JSON' };
  }
  const problem = scan(text);
  if (problem !== null) return { ok: false, problem };
  // Only these two spellings can make a key or a string that needs the slower look.
  if (text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')) {
    const forbiddenKey = forbidden(value, []);
    if (forbiddenKey) return { ok: false, forbiddenKey };
    if (text.includes('\\u') && !storable(value)) return { ok: false, problem: 'a string holds a NUL or half a surrogate pair' };
  }
  return { ok: true, value };
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

/** Depth and doubled keys, in one pass over a text that is known to be JSON. */
function scan(text: string): string | null {
  const keys: (Set<string> | null)[] = [];
  let keyComes = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = closingQuote(text, at);
      const seen = keys.at(-1);
      if (keyComes && seen) {
        const key = keyText(text.slice(at, end + 1));
        if (seen.has(key)) return 'an object has the same key twice';
        seen.add(key);
        keyComes = false;
      }
      at = end;
    } else if (code === openObject || code === openArray) {
      keys.push(code === openObject ? new Set() : null);
      keyComes = code === openObject;
      if (keys.length > depthMax) return `nested deeper than ${depthMax}`;
    } else if (code === closeObject || code === closeArray) keys.pop();
    else if (code === comma) keyComes = keys.at(-1) instanceof Set;
  }
  return null;
}

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(at)) at += code === backslash ? 2 : 1;
  return at;
}

const keyText = (quoted: string): string => (quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1));

/** The way to a key that would reach an object's prototype. The depth is bounded, so recursion is. */
function forbidden(value: unknown, path: string[]): string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const here = [...path, key];
    if (key === '__proto__') return here;
    if (key === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) return here;
    const found = forbidden(inner, here);
    if (found) return found;
  }
  return null;
}

/** Whether a database's text can hold every string in it. */
function storable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && storable(inner));
}

export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
