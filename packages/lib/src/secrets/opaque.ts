/** Distinguishes values that somebody drew at random from words, ids and hashes of content. */

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const opaqueChars = /^[\w.~+/=%:|-]+$/;
const opaqueCharsMin = 20;
const opaqueCharsMax = 8192;
/** Characters read of a long value: enough to classify it. */
const sampleChars = 256;

export const isUuid = (value: string): boolean => value.length === 36 && uuid.test(value);
export const isHex = (value: string): boolean => /^(?:[\da-f]+|[\dA-F]+)$/.test(value);

/** How often neighbours are of another class: 0.62 of random letters of both cases and digits, below 0.35 of words. */
function changeRate(text: string): number {
  let changes = 0;
  for (let i = 1; i < text.length; i++) if (classOf(text.charCodeAt(i)) !== classOf(text.charCodeAt(i - 1))) changes += 1;
  return changes / Math.max(1, text.length - 1);
}

const classOf = (code: number): number => (code < 58 ? 0 : code < 91 ? 1 : 2);

/** Whether a value is random text of both cases and digits, or 32 and more of one case: a token rather than an id. */
export function isOpaque(value: string): boolean {
  if (value.length < opaqueCharsMin || value.length > opaqueCharsMax || isUuid(value) || !opaqueChars.test(value)) return false;
  const core = value.slice(0, sampleChars).replaceAll(/[^A-Za-z\d]/g, '');
  if (core.length < opaqueCharsMin || isHex(core)) return false;
  const digits = core.replaceAll(/\D/g, '').length;
  const lower = core.replaceAll(/[^a-z]/g, '').length;
  const upper = core.length - digits - lower;
  if (lower >= 2 && upper >= 2) return changeRate(core) >= (digits < 2 ? 0.45 : 0.4) && !isReadableBase64(value);
  return core.length >= 32 && core.length === value.length && changeRate(core) >= 0.25 && digits < core.length * 0.6;
}

/** The text of base64 that holds readable text, such as a cursor; else null. */
export function readBase64(value: string): string | null {
  if (value.length < 8 || value.length > opaqueCharsMax || !/^[\w+/-]+={0,2}$/.test(value)) return null;
  const text = Buffer.from(value, 'base64').toString('latin1');
  return text.length >= 5 && /^[\x20-\x7e\t\r\n]+$/.test(text) ? text : null;
}

const isReadableBase64 = (value: string): boolean => readBase64(value) !== null;

/** Whether a value behind a word such as `magic` in a path is a token: random, hexadecimal, or a UUID. */
export function isTokenLike(value: string): boolean {
  if (isUuid(value) || isOpaque(value)) return true;
  if (value.length < 12 || !/^[\w~.-]+$/.test(value) || !/\d/.test(value)) return false;
  return /[A-Za-z]/.test(value) && changeRate(value.replaceAll(/[^A-Za-z\d]/g, '')) >= 0.2;
}

/** Letters and separators that are words rather than drawn at random. */
export function isWords(value: string): boolean {
  if (!/^[A-Za-z][A-Za-z_ .:-]*$/.test(value)) return false;
  const letters = value.replaceAll(/[^A-Za-z]/g, '');
  if (/^[A-Z]+$/.test(letters)) return letters.length < 16;
  return /[A-Z]/.test(letters) && letters.length >= 10 ? changeRate(letters) < 0.36 : value.length < 24;
}

/** Whether a value may be replaced wherever it stands: no word, number or short text that stands elsewhere for something else. */
export function isDistinctive(value: string): boolean {
  if (value.length >= 24) return true;
  if (value.length < 6 || /^[A-Za-z]+$/.test(value)) return false;
  if (/^\d+$/.test(value)) return value.length >= 12;
  return /\d/.test(value) || /[^\w-]/.test(value) || value.length >= 16;
}
