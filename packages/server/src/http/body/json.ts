/**
 * Parses JSON more strictly than JSON.parse, which accepts duplicate keys (the
 * first one is lost), `__proto__` as a key (prototype pollution on merge) and
 * unlimited nesting (stack overflow in later recursion).
 */
import { printParseErrorCode, visit, type ParseErrorCode } from 'jsonc-parser';
import { closingQuote, isJsonWithin } from '@berth/lib/json/bounds.ts';
import { isStorableText } from '@berth/lib/text/text.ts';

/** A place in the text, both numbers from 1. */
interface TextPosition {
  line: number;
  column: number;
}
type JsonParseResult =
  | { ok: true; value: unknown }
  | { ok: false; problem: string; position?: TextPosition | undefined }
  | { ok: false; forbiddenKey: string[] };

/** Deeper than any valid request, and far below the stack limit of a recursive reader. */
const depthMax = 64;
/** More than any valid request has, and read within milliseconds. */
const containersMax = 100_000;
const keysMax = 10_000;

/** `exactTextFields`: top-level fields whose strings may contain NUL and unpaired surrogates. */
export function parseJson(text: string, exactTextFields: readonly string[] = []): JsonParseResult {
  if (!isJsonWithin(text, { depthMax, containersMax }))
    return { ok: false, problem: `nested deeper than ${depthMax}, or more than ${containersMax} objects and arrays` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, ...describeSyntaxError(text) };
  }
  const keyProblem = checkKeys(text);
  if (keyProblem) return { ok: false, problem: keyProblem.problem, position: positionOf(text, keyProblem.at) };
  // Only these spellings can produce a key or string that needs the slower check.
  if (text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')) {
    const forbiddenKey = findForbiddenKey(value, []);
    if (forbiddenKey) return { ok: false, forbiddenKey };
    if (text.includes('\\u') && !isStorable(value, exactTextFields))
      return { ok: false, problem: 'a string contains a NUL or an unpaired surrogate' };
  }
  return { ok: true, value };
}

/** What was expected at the first error. JSON.parse names a place for some errors only, and quotes the text for others. */
const syntaxProblems: Readonly<Record<string, string>> = {
  InvalidSymbol: 'not a value or a name of JSON: texts and names need double quotes',
  InvalidNumberFormat: 'not a number of JSON',
  PropertyNameExpected: 'a name in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace is expected',
  CloseBracketExpected: 'a closing bracket is expected',
  EndOfFileExpected: 'the text goes on after the end of the JSON',
  InvalidCommentToken: 'comments are not part of JSON',
  UnexpectedEndOfComment: 'comments are not part of JSON',
  UnexpectedEndOfString: 'this string does not end on its line',
  UnexpectedEndOfNumber: 'this number is not complete',
  InvalidUnicode: 'this string has an escape that is not valid',
  InvalidEscapeCharacter: 'this string has an escape that is not valid',
  InvalidCharacter: 'this string has a control character that needs an escape',
};

function describeSyntaxError(text: string): { problem: string; position?: TextPosition } {
  let first: { problem: string; position: TextPosition } | undefined;
  const onError = (code: ParseErrorCode, _offset: number, _length: number, line: number, column: number): void => {
    first ??= { problem: syntaxProblems[printParseErrorCode(code)] ?? 'not valid JSON', position: { line: line + 1, column: column + 1 } };
  };
  visit(text, { onError }, { disallowComments: true, allowTrailingComma: false });
  return first ?? { problem: 'not valid JSON' };
}

function positionOf(text: string, at: number): TextPosition {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

interface KeyProblem {
  problem: string;
  at: number;
}

const quote = 0x22;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

/** One pass over valid JSON. */
function checkKeys(text: string): KeyProblem | null {
  /** Keys of each open object and array; most have no keys. */
  const keys: (Set<string> | 'object' | 'array')[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = closingQuote(text, at);
      const problem = expectsKey ? addKey(keys, keyText(text.slice(at, end + 1))) : null;
      if (problem !== null) return { problem, at };
      expectsKey = false;
      at = end;
    } else if (code === openObject || code === openArray) {
      keys.push(code === openObject ? 'object' : 'array');
      expectsKey = code === openObject;
    } else if (code === closeObject || code === closeArray) keys.pop();
    else if (code === comma) expectsKey = keys.at(-1) !== 'array';
  }
  return null;
}

function addKey(keys: (Set<string> | 'object' | 'array')[], key: string): string | null {
  const seen = keys.at(-1);
  if (!(seen instanceof Set)) keys[keys.length - 1] = new Set([key]);
  else if (seen.has(key)) return 'an object has the same key twice';
  else if (seen.add(key).size > keysMax) return `an object has more than ${keysMax} keys`;
  return null;
}

const keyText = (quoted: string): string => (quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1));

/** The path of a key that would reach an object's prototype. The depth is already bounded. */
function findForbiddenKey(value: unknown, path: string[]): string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const here = [...path, key];
    if (key === '__proto__') return here;
    if (key === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) return here;
    const match = findForbiddenKey(inner, here);
    if (match) return match;
  }
  return null;
}

/** Whether a database's text type can store every string in it, except below these keys. */
function isStorable(value: unknown, exceptKeys: readonly string[] = []): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => exceptKeys.includes(key) || (isStorableText(key) && isStorable(inner)));
}
