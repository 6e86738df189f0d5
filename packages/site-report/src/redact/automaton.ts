/** Finds all of many words in one pass over a text. */
import { WordAutomaton } from '@berth/lib/text/word-automaton.ts';

/** Words shorter than this are not searched. */
export const wordCharsMin = 4;
/** A word is searched by its first characters; `Word.text` then says how far it goes on. */
const prefixCharsMax = 128;
const candidatesMax = 16;
/** Maximum characters that are compared: some 50 MB of memory and two seconds to build, for all forms of 4,000 secrets that have nothing in common. */
const statesMax = 1_000_000;
/** Maximum characters of the words: the heap of the thread is ten times as large. */
const keptCharsMax = 50_000_000;
const tokenChar = /[\w.~+/=%-]/;

export interface Word<T> {
  text: string;
  value: T;
}

export interface Match<T> {
  start: number;
  end: number;
  value: T;
}

const hashBits = 20;
const hashMask = (1 << hashBits) - 1;

export class Automaton<T> {
  readonly #automaton = new WordAutomaton();
  /** Words, by the state at which their beginnings end. */
  readonly #words = new Map<number, Word<T>[]>();
  /** Hashes of the first four characters of all words: text without them is skipped. */
  readonly #starts = new Uint8Array(1 << hashBits);

  #keptChars = 0;

  /** Adds a word, unless it is too short to be searched for. @returns false where there is no more room */
  add(word: Word<T>): boolean {
    if (word.text.length < wordCharsMin) return true;
    const chars = Math.min(word.text.length, prefixCharsMax);
    if (this.#automaton.size + chars > statesMax || this.#keptChars + word.text.length > keptCharsMax) return false;
    this.#keptChars += word.text.length;
    this.#insert(word);
    return true;
  }

  /** Makes it ready to search; no word may be added after it. */
  link(): void {
    // It needs no pauses: it runs in a thread of its own, where nobody else waits.
    for (const _ of this.#automaton.link());
  }

  #insert(word: Word<T>): void {
    let hash = 0;
    for (let i = 0; i < wordCharsMin; i++) hash = ((hash << 5) ^ word.text.charCodeAt(i)) & hashMask;
    this.#starts[hash] = 1;
    const state = this.#automaton.add(word.text.slice(0, prefixCharsMax));
    const words = this.#words.get(state);
    if (words) words.push(word);
    else this.#words.set(state, [word]);
  }

  /** The longest word that ends at each position, by its end. Matches may overlap. */
  search(text: string): Match<T>[] {
    const automaton = this.#automaton;
    const matches: Match<T>[] = [];
    let state = 0;
    for (let i = 0; i < text.length; i++) {
      if (state === 0) {
        i = this.#startAfter(text, i);
        if (i >= text.length) break;
        for (let j = Math.max(0, i - wordCharsMin + 1); j < i; j++) state = automaton.step(state, text.charCodeAt(j));
      }
      state = automaton.step(state, text.charCodeAt(i));
      const output = automaton.outputOf(state);
      if (output === 0) continue;
      const match = this.#matchAt(text, i + 1, output);
      matches.push(match);
      if (match.end > i + 1) {
        i = match.end - 1;
        state = 0;
      }
    }
    return matches;
  }

  /** The next place, not before `from`, where the first characters of a word may end. */
  #startAfter(text: string, from: number): number {
    const starts = this.#starts;
    const { length } = text;
    let hash = 0;
    for (let i = Math.max(0, from - wordCharsMin + 1); i < length; i++) {
      hash = ((hash << 5) ^ text.charCodeAt(i)) & hashMask;
      if (starts[hash] !== 0 && i >= from) return i;
    }
    return length;
  }

  #matchAt(text: string, end: number, output: number): Match<T> {
    const words = this.#words.get(output) ?? [];
    const start = end - this.#automaton.depthOf(output);
    let best: Match<T> = { start, end, value: (words[0] as Word<T>).value };
    for (const word of words.slice(0, candidatesMax)) {
      let to = end;
      while (to < text.length && to - start < word.text.length && text.charCodeAt(to) === word.text.charCodeAt(to - start)) to += 1;
      if (to > best.end) best = { start, end: to, value: word.value };
    }
    if (words.length > candidatesMax) while (best.end < text.length && tokenChar.test(text[best.end] ?? '')) best.end += 1;
    return best;
  }
}
