/** Where the letters of `query` stand in `text`, and how well they fit; null if they do not. */
export interface Match {
  score: number;
  /** Indexes of the matching characters. */
  at: readonly number[];
}

const startOfWord = 8;
const nextToLast = 5;

/**
 * Matches a query whose letters appear in the text in their order, as in `crs` for "Create a session". Words of the
 * query may match in any order. Beginnings of words and letters side by side count most, short texts more than long ones.
 */
export function matchText(query: string, text: string): Match | null {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  const at = new Set<number>();
  let score = -lower.length / 100;
  for (const word of words) {
    const match = matchWord(word, lower);
    if (!match) return null;
    score += match.score;
    for (const index of match.at) at.add(index);
  }
  return { score, at: [...at].toSorted((one, other) => one - other) };
}

const isStart = (text: string, index: number): boolean => index === 0 || /[\s_\-/.:]/.test(text[index - 1] ?? '');

/** The whole word where it stands, best at the beginning of a word; else its letters in their order. */
function matchWord(word: string, text: string): Match | null {
  const whole = wholeAt(word, text);
  if (whole !== -1) {
    const score = word.length * nextToLast + (isStart(text, whole) ? startOfWord * 2 : startOfWord);
    return { score, at: Array.from(word, (_, offset) => whole + offset) };
  }
  const at: number[] = [];
  let score = 0;
  for (const letter of word) {
    const from = (at.at(-1) ?? -1) + 1;
    const index = bestIndex(text, letter, from);
    if (index === -1) return null;
    score += (isStart(text, index) ? startOfWord : 0) + (index === from && from > 0 ? nextToLast : 0);
    at.push(index);
  }
  return { score, at };
}

function wholeAt(word: string, text: string): number {
  const first = text.indexOf(word);
  for (let index = first; index !== -1; index = text.indexOf(word, index + 1)) if (isStart(text, index)) return index;
  return first;
}

/** The next letter if it follows, else the next beginning of a word with it, else the next one anywhere. */
function bestIndex(text: string, letter: string, from: number): number {
  const next = text.indexOf(letter, from);
  if (next === from) return next;
  for (let index = next; index !== -1; index = text.indexOf(letter, index + 1)) if (isStart(text, index)) return index;
  return next;
}

/** The items that match, best first; items that match equally well stay in their order. */
export function rank<T>(items: readonly T[], query: string, textOf: (item: T) => string): { item: T; match: Match }[] {
  if (query.trim() === '') return items.map((item) => ({ item, match: { score: 0, at: [] } }));
  return items
    .flatMap((item) => {
      const match = matchText(query, textOf(item));
      return match ? [{ item, match }] : [];
    })
    .toSorted((one, other) => other.match.score - one.match.score);
}
