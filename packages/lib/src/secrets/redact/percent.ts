/** Escapes of URLs, of which a page may write any character of a secret in one and leave the next as it is. */

/** Escapes of printable ASCII. Any other character is always escaped. */
const escape = /%([2-7][\da-f])/gi;

export interface Unescaped {
  text: string;
  /** Where each character of it begins in the original; one more for its end. */
  starts: Uint32Array;
}

/** Reads a text without its escapes; null where it has none. */
export function readEscapes(original: string): Unescaped | null {
  const parts: string[] = [];
  const starts = new Uint32Array(original.length + 1);
  let [from, length] = [0, 0];
  const copy = (to: number): void => {
    parts.push(original.slice(from, to));
    for (; from < to; from += 1) starts[length++] = from;
  };
  for (const { 0: match, 1: hex = '', index } of original.matchAll(escape)) {
    copy(index);
    parts.push(String.fromCharCode(Number.parseInt(hex, 16)));
    starts[length++] = index;
    from = index + match.length;
  }
  if (parts.length === 0) return null;
  copy(original.length);
  starts[length] = original.length;
  return { text: parts.join(''), starts };
}
