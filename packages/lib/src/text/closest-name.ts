/** Longer names are no typing errors. */
const nameLengthMax = 64;
const partLengthMin = 4;

/** The candidate that a misspelt or shortened name most likely means; null when none is near. */
export function closestName(name: string, candidates: readonly string[]): string | null {
  if (name.length > nameLengthMax) return null;
  const wanted = lettersOf(name);
  let best: { candidate: string; rank: number } | null = null;
  for (const candidate of candidates) {
    const rank = rankOf(wanted, lettersOf(candidate));
    const isBetter = !best || rank < best.rank || (rank === best.rank && candidate.length < best.candidate.length);
    if (rank < Infinity && isBetter) best = { candidate, rank };
  }
  return best?.candidate ?? null;
}

/** `keepAlive` and `keep-alive` are `keep_alive`. */
const lettersOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** 0: the same letters; then the beginning, the end, and some wrong letters. */
function rankOf(wanted: string, candidate: string): number {
  if (wanted === candidate) return 0;
  if (Math.min(wanted.length, candidate.length) >= partLengthMin) {
    if (candidate.startsWith(wanted) || wanted.startsWith(candidate)) return 1;
    if (candidate.endsWith(wanted) || wanted.endsWith(candidate)) return 2;
  }
  const wrong = editDistance(wanted, candidate);
  return wrong <= Math.floor(candidate.length / 4) ? 2 + wrong : Infinity;
}

/** Levenshtein's distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
