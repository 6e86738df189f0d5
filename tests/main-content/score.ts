/**
 * How much of the truth an extracted text has. As public benchmarks of article
 * extraction do it: precision and recall of the four-word shingles of each page,
 * their means over all pages, and F1 of these.
 */
const shingleWords = 4;
/** A script without blanks between words is compared by characters. */
const word = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+/gu;

export interface PageScore {
  precision: number;
  recall: number;
}

export interface Score extends PageScore {
  f1: number;
}

/** A heading at the beginning does not count: it is no part of the truth, and whether it belongs there is a matter of taste. */
export function scorePage(text: string, { truth, heading }: { truth: string; heading: string }): PageScore {
  const plain = text.trimStart();
  const own = shinglesOf(plain.startsWith(heading) ? plain.slice(heading.length) : plain);
  const expected = shinglesOf(truth);
  let both = 0;
  for (const [shingle, count] of own) both += Math.min(count, expected.get(shingle) ?? 0);
  const [given, wanted] = [sumOf(own), sumOf(expected)];
  return { precision: given === 0 ? (wanted === 0 ? 1 : 0) : both / given, recall: wanted === 0 ? 1 : both / wanted };
}

export function meanScore(scores: readonly PageScore[]): Score {
  const mean = (of: (score: PageScore) => number): number => scores.reduce((sum, score) => sum + of(score), 0) / scores.length;
  const [precision, recall] = [mean((score) => score.precision), mean((score) => score.recall)];
  return { precision, recall, f1: f1Of({ precision, recall }) };
}

export const f1Of = ({ precision, recall }: PageScore): number =>
  precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);

function shinglesOf(text: string): Map<string, number> {
  const words = text.toLowerCase().match(word) ?? [];
  const shingles = new Map<string, number>();
  for (let at = 0; at < Math.max(1, words.length - shingleWords + 1); at += 1) {
    const shingle = words.slice(at, at + shingleWords).join(' ');
    if (shingle !== '') shingles.set(shingle, (shingles.get(shingle) ?? 0) + 1);
  }
  return shingles;
}

const sumOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
