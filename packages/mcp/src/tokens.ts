/**
 * How many tokens a text is for a model, without a tokenizer, whose table is larger than the whole program. Linear in
 * the part that fits. The service's estimate of a snapshot is another one: it is made of each line of a page of thousands, so it
 * is one pass without expressions, and it needs no maximum that holds for any text.
 */

/** More than any text of a page may have, whatever it consists of: of common text a reply then has about half as much. */
export const tokensMax = 7600;

const parts = /[a-z]+|[A-Z][a-z]*|\d+| |\s+|[\p{L}\p{M}]|[^]/gu;

/** What ordinary text takes. */
function likelyTokens(part: string): number {
  if (/^[A-Za-z]/.test(part)) return Math.ceil(part.length / 6);
  if (/^\d/.test(part)) return Math.ceil(part.length / 3);
  if (/^\s/.test(part)) return part === ' ' ? 0 : Math.ceil(part.length / 8);
  return /^[\p{L}\p{M}]/u.test(part) ? 1 : Math.min(part.length === 1 && part <= '~' ? 1 : 3, 3);
}

/** What no text exceeds: pairs of letters have tokens of their own, and a rare character is one token for each byte. */
function worstTokens(part: string): number {
  if (/^[A-Za-z]/.test(part)) return Math.ceil((part.length + 1) / 2);
  if (/^\d/.test(part)) return Math.ceil(part.length / 3);
  if (/^\s/.test(part)) return part === ' ' ? 0 : part.length;
  return bytesOf(part.codePointAt(0) ?? 0);
}

const bytesOf = (code: number): number => (code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4);

/** Length of the longest start of the text that has at most so many tokens, at the end of a line or word if one is near. */
export function fittingLength(text: string, tokens: number): number {
  let [likely, worst, end] = [0, 0, 0];
  for (const { 0: part, index } of text.matchAll(parts)) {
    likely += likelyTokens(part);
    worst += worstTokens(part);
    if (likely > tokens || worst > tokensMax) return boundaryBefore(text, end);
    end = index + part.length;
  }
  return text.length;
}

/** How far back a boundary is looked for: a line of text is rarely longer. */
const boundaryCharsMax = 300;

function boundaryBefore(text: string, end: number): number {
  const near = text.slice(Math.max(0, end - boundaryCharsMax), end);
  const boundary = Math.max(near.lastIndexOf('\n'), near.lastIndexOf(' ')) + 1;
  return boundary === 0 ? end : end - near.length + boundary;
}

/** About four characters are a token. */
export const roughTokens = (chars: number): number => Math.ceil(chars / 4);
