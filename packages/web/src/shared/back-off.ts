const firstMs = 500;
const longestMs = 10_000;
/** Pages that lost the same service must not all come back in the same moment. */
const jitter = 0.25;

/** How long to wait before the next attempt, each time longer. */
export class BackOff {
  readonly #random: () => number;
  #attempts = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** In ms, 500 first and 10,000 at most, give or take the jitter. */
  next(): number {
    const plainMs = Math.min(longestMs, firstMs * 2 ** this.#attempts);
    this.#attempts += 1;
    return Math.round(Math.min(longestMs, plainMs * (1 - jitter + 2 * jitter * this.#random())));
  }

  reset(): void {
    this.#attempts = 0;
  }
}
