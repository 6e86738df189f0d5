/** Foreign text, as it may be retained and stored: from pages, sites and their servers. */

/** V8 copies shorter substrings; longer ones keep the whole string that they were cut from. */
const copiedCharsMax = 12;

/** Whether PostgreSQL's text and jsonb can store it. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Replaces unpaired surrogates and NUL, which PostgreSQL and many JSON parsers refuse, with U+FFFD. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

/** The same for all strings and keys of a parsed JSON value. @throws RangeError when it is nested deeper than the stack */
export function toStorableValue(value: unknown): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toStorableValue);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [toStorableText(key), toStorableValue(inner)]));
}

/** Whether JSON has an escape that may decode to an unpaired surrogate or a NUL. */
export const mayBeUnstorable = (json: string | Buffer): boolean =>
  // Large messages are base64 without any escape: one search.
  json.includes('\\u') && (json.includes('\\ud') || json.includes('\\uD') || json.includes('\\u0000'));

/**
 * At most `charsMax` UTF-16 code units from the start, storable, never half of a surrogate pair.
 *
 * The result is a copy: what V8's `slice` or a regular expression returns keeps
 * the whole text in memory, so 8 KB of a page's URL would cost its megabytes.
 */
export function cutText(text: string, charsMax: number): string {
  const isPairCut = text.length > charsMax && isHighSurrogate(text.charCodeAt(charsMax - 1)) && isLowSurrogate(text.charCodeAt(charsMax));
  const cut = text.slice(0, isPairCut ? charsMax - 1 : charsMax);
  if (cut.length <= copiedCharsMax) return toStorableText(cut);
  return Buffer.from(cut).toString().replaceAll('\0', '\ufffd');
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;
