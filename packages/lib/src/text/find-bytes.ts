/**
 * `bytes.indexOf(word, from)` in linear time (Knuth, Morris and Pratt). Native
 * searches take up to the product of both lengths, which is too long where
 * strangers write both.
 */
export function findBytes(bytes: Uint8Array, word: Uint8Array, from = 0): number {
  if (word.length === 0) return from;
  const borders = bordersOf(word);
  let matched = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    while (matched > 0 && word[matched] !== byte) matched = borders[matched - 1] ?? 0;
    if (word[matched] === byte) matched += 1;
    if (matched === word.length) return at - matched + 1;
  }
  return -1;
}

/** The length of the longest proper suffix that is a prefix too, for each prefix of the word. */
function bordersOf(word: Uint8Array): Uint32Array {
  const borders = new Uint32Array(word.length);
  for (let at = 1, length = 0; at < word.length; at += 1) {
    while (length > 0 && word[at] !== word[length]) length = borders[length - 1] ?? 0;
    if (word[at] === word[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
