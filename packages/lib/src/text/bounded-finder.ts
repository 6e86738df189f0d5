/** Finds all of many words in one pass over a text: as many of them as its memory has room for, the first ones first. */
import { WordAutomaton } from './word-automaton.ts';

/** Words shorter than this are not searched. */
const wordCharsMin = 4;
/** A word is searched by its first characters; `Word.text` then says how far it goes on. */
const prefixCharsMax = 128;
const candidatesMax = 16;
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

/** How much memory a finder takes. */
export interface FinderBounds {
  /** Maximum characters that are compared: some 50 bytes of memory each, 100 while it grows. */
  states: number;
  /** Maximum characters of the words, which are kept to say how far each goes on. */
  chars: number;
}

/** Words for each bit that marks where one may begin. */
const statesPerStart = 8;
const hashBitsMin = 12;
const hashBitsMax = 20;

export class BoundedFinder<T> {
  readonly #automaton = new WordAutomaton();
  readonly #bounds: FinderBounds;
  /** Words, by the state at which their beginnings end. */
  readonly #words = new Map<number, Word<T>[]>();
  /** Hashes of the first four characters of all words: text without them is skipped. */
  readonly #starts: Uint8Array;
  readonly #hashMask: number;
  #keptChars = 0;

  /** Whether all words had room. */
  isWhole = true;
  /** How many of the words, from the first on, are searched for or are too short to be. */
  size = 0;

  private constructor(bounds: FinderBounds) {
    this.#bounds = bounds;
    const bits = Math.min(hashBitsMax, Math.max(hashBitsMin, Math.ceil(Math.log2(bounds.states / statesPerStart))));
    this.#starts = new Uint8Array(1 << bits);
    this.#hashMask = this.#starts.length - 1;
  }

  /** Takes the words up to the first that has no room. Pauses at each `yield`. */
  static *create<T>(words: Iterable<Word<T>>, bounds: FinderBounds): Generator<void, BoundedFinder<T>> {
    const finder = new BoundedFinder<T>(bounds);
    for (const word of words) {
      finder.isWhole = finder.#add(word);
      if (!finder.isWhole) break;
      finder.size += 1;
      yield;
    }
    yield* finder.#automaton.link();
    return finder;
  }

  #add(word: Word<T>): boolean {
    if (word.text.length < wordCharsMin) return true;
    const chars = Math.min(word.text.length, prefixCharsMax);
    if (this.#automaton.size + chars > this.#bounds.states || this.#keptChars + word.text.length > this.#bounds.chars) return false;
    this.#keptChars += word.text.length;
    this.#insert(word);
    return true;
  }

  #insert(word: Word<T>): void {
    let hash = 0;
    for (let i = 0; i < wordCharsMin; i++) hash = ((hash << 5) ^ word.text.charCodeAt(i)) & this.#hashMask;
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
      hash = ((hash << 5) ^ text.charCodeAt(i)) & this.#hashMask;
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

export interface Span {
  start: number;
  end: number;
}

/** Sorts spans by their start, and makes one of those that overlap, which is otherwise as the longest of them is. */
export function mergeSpans<S extends Span>(spans: S[]): S[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const result: S[] = [];
  let longest = 0;
  for (const span of spans) {
    const last = result.at(-1);
    const chars = span.end - span.start;
    if (!last || span.start >= last.end) result.push({ ...span });
    else result[result.length - 1] = { ...(chars > longest ? span : last), start: last.start, end: Math.max(last.end, span.end) };
    longest = last && span.start < last.end ? Math.max(longest, chars) : chars;
  }
  return result;
}
