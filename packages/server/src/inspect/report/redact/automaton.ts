/** Finds all of many words in one pass over a text (Aho and Corasick, 1975), in time linear in the text whatever the words are. */

/** Words shorter than this are not searched. */
export const wordCharsMin = 4;
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

const hashBits = 20;
const hashMask = (1 << hashBits) - 1;

/** A hash table of numbers with linear probing: a `Map` allocates each key that is no small integer. */
class Transitions {
  #states = new Int32Array(1024);
  #codes = new Uint16Array(1024);
  /** 0: free, as nothing leads to the root. */
  #targets = new Int32Array(1024);
  #count = 0;

  /** 0 for none. */
  get(state: number, code: number): number {
    return this.#targets[this.#indexOf(state, code)] ?? 0;
  }

  set(state: number, code: number, target: number): void {
    if (this.#count * 2 >= this.#targets.length) this.#grow();
    const index = this.#indexOf(state, code);
    this.#states[index] = state;
    this.#codes[index] = code;
    this.#targets[index] = target;
    this.#count += 1;
  }

  /** Where it stands, or where it would. */
  #indexOf(state: number, code: number): number {
    const mask = this.#targets.length - 1;
    const mixed = Math.imul(Math.imul(state, 0x9e3779b1) ^ code, 0x85ebca6b);
    let index = (mixed ^ (mixed >>> 15)) & mask;
    while (this.#targets[index] !== 0 && (this.#states[index] !== state || this.#codes[index] !== code)) index = (index + 1) & mask;
    return index;
  }

  #grow(): void {
    const [states, codes, targets] = [this.#states, this.#codes, this.#targets];
    this.#states = new Int32Array(2 * targets.length);
    this.#codes = new Uint16Array(2 * targets.length);
    this.#targets = new Int32Array(2 * targets.length);
    this.#count = 0;
    for (const [i, target] of targets.entries()) if (target !== 0) this.set(states[i] ?? 0, codes[i] ?? 0, target);
  }
}

export class Automaton<T> {
  /** State and character, to the next state. State 0 is the root. */
  readonly #next = new Transitions();
  readonly #fail: number[] = [0];
  readonly #depth: number[] = [0];
  readonly #words = new Map<number, Word<T>[]>();
  /** The nearest state down the failure links, itself included, at which a word ends; 0 for none. */
  readonly #output: number[] = [0];
  /** Hashes of the first four characters of all words: text without them is skipped. */
  readonly #starts = new Uint8Array(1 << hashBits);

  readonly #parent: number[] = [0];
  readonly #code: number[] = [0];

  constructor(words: Iterable<Word<T>>) {
    for (const word of words) if (word.text.length >= wordCharsMin) this.#add(word);
    this.#link();
  }

  /** How many characters it compares at most; memory is in proportion. */
  get size(): number {
    return this.#depth.length;
  }

  #add(word: Word<T>): void {
    let state = 0;
    let hash = 0;
    for (let i = 0; i < Math.min(word.text.length, prefixCharsMax); i++) {
      const code = word.text.charCodeAt(i);
      if (i < wordCharsMin) hash = ((hash << 5) ^ code) & hashMask;
      state = this.#next.get(state, code) || this.#append(state, code);
    }
    this.#starts[hash] = 1;
    const words = this.#words.get(state);
    if (words) words.push(word);
    else this.#words.set(state, [word]);
  }

  #append(parent: number, code: number): number {
    const state = this.#depth.length;
    this.#next.set(parent, code, state);
    this.#depth.push((this.#depth[parent] ?? 0) + 1);
    this.#parent.push(parent);
    this.#code.push(code);
    this.#fail.push(0);
    this.#output.push(0);
    return state;
  }

  /** Sets the failure links, the shallow states first. */
  #link(): void {
    const byDepth: number[][] = [];
    for (const [state, depth] of this.#depth.entries()) if (state > 0) (byDepth[depth] ??= []).push(state);
    for (const state of byDepth.flat()) {
      const parent = this.#parent[state] ?? 0;
      const fail = parent === 0 ? 0 : this.#step(this.#fail[parent] ?? 0, this.#code[state] ?? 0);
      this.#fail[state] = fail;
      this.#output[state] = this.#words.has(state) ? state : (this.#output[fail] ?? 0);
    }
  }

  #step(from: number, code: number): number {
    let state = from;
    for (;;) {
      const next = this.#next.get(state, code);
      if (next !== 0 || state === 0) return next;
      state = this.#fail[state] ?? 0;
    }
  }

  /** The longest word that ends at each position, by its end. Matches may overlap. */
  search(text: string): Match<T>[] {
    const matches: Match<T>[] = [];
    let state = 0;
    for (let i = 0; i < text.length; i++) {
      if (state === 0) {
        i = this.#startAfter(text, i);
        if (i >= text.length) break;
        for (let j = Math.max(0, i - wordCharsMin + 1); j < i; j++) state = this.#step(state, text.charCodeAt(j));
      }
      state = this.#step(state, text.charCodeAt(i));
      const output = this.#output[state] ?? 0;
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

  /** Where the first characters of a word may end, not before `from`. */
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
    const start = end - (this.#depth[output] ?? 0);
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
