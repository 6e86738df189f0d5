/** The automaton of Aho and Corasick (1975): many words are found in one pass, in time linear in the text whatever the words are. */

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

/** Numbers of 32 bits by state. A list of numbers takes twice the memory, and that of the heap, which is limited. */
class Numbers {
  #values = new Int32Array(256);

  get(state: number): number {
    return this.#values[state] ?? 0;
  }

  set(state: number, value: number): void {
    if (state >= this.#values.length) {
      const values = new Int32Array(2 * state);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[state] = value;
  }
}

/** States built between two pauses. */
const sliceStates = 16 * 1024;

/** State 0 is the root: no word has begun. */
export class WordAutomaton {
  readonly #next = new Transitions();
  readonly #fail = new Numbers();
  readonly #depth = new Numbers();
  /** The nearest state down the failure links, itself included, at which a word ends; 0 for none. */
  readonly #output = new Numbers();
  readonly #parent = new Numbers();
  readonly #code = new Numbers();
  #states = 1;

  /** How many characters it compares at most: some 50 bytes of memory each. */
  get size(): number {
    return this.#states;
  }

  /** Adds a word that is not empty. @returns the state at which it ends, which equal words share */
  add(word: string): number {
    let state = 0;
    for (let at = 0; at < word.length; at += 1) {
      const code = word.charCodeAt(at);
      state = this.#next.get(state, code) || this.#append(state, code);
    }
    this.#output.set(state, state);
    return state;
  }

  #append(parent: number, code: number): number {
    const state = this.#states;
    this.#states += 1;
    this.#next.set(parent, code, state);
    this.#depth.set(state, this.#depth.get(parent) + 1);
    this.#parent.set(state, parent);
    this.#code.set(state, code);
    return state;
  }

  /** Makes it ready to be used; no word may be added after it. Pauses at each `yield`. */
  *link(): Generator<void> {
    const byDepth: number[][] = [];
    for (let state = 1; state < this.#states; state += 1) {
      if (state % sliceStates === 0) yield;
      (byDepth[this.#depth.get(state)] ??= []).push(state);
    }
    let linked = 0;
    // The shallow ones first, because the links of others lead to them.
    for (const states of byDepth)
      for (const state of states ?? []) {
        linked += 1;
        if (linked % sliceStates === 0) yield;
        const parent = this.#parent.get(state);
        const fail = parent === 0 ? 0 : this.step(this.#fail.get(parent), this.#code.get(state));
        this.#fail.set(state, fail);
        if (this.#output.get(state) === 0) this.#output.set(state, this.#output.get(fail));
      }
  }

  /** The state after one more character. */
  step(from: number, code: number): number {
    let state = from;
    for (;;) {
      const next = this.#next.get(state, code);
      if (next !== 0 || state === 0) return next;
      state = this.#fail.get(state);
    }
  }

  /** The end of the longest word that ends here; 0 for none. */
  outputOf(state: number): number {
    return this.#output.get(state);
  }

  /** The number of characters that lead to the state. */
  depthOf(state: number): number {
    return this.#depth.get(state);
  }
}
