/** A seeded random number generator: equal seeds give equal sequences. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** mulberry32: 0 ≤ n < 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Both bounds are inclusive. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const chosen = list[this.integer(0, list.length - 1)];
    if (chosen === undefined) throw new Error('the list is empty');
    return chosen;
  }

  /** Picks a name with a probability in proportion to its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let remaining = this.fraction() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      remaining -= weights[name];
      if (remaining < 0) return name;
    }
    return this.pick(names);
  }

  shuffled<T>(list: readonly T[]): T[] {
    const remaining = [...list];
    return list.map(() => remaining.splice(this.integer(0, remaining.length - 1), 1)[0] as T);
  }

  /** Creates an independent generator: numbers drawn from it do not advance this one. */
  split(): Random {
    return new Random(this.integer(0, 2 ** 32 - 1));
  }
}
