const delayMsMin = 500;
const delayMsMax = 10_000;
/** Share by which a delay varies, so that the pages of one service do not all reconnect at once. */
const jitter = 0.25;

/** Exponential backoff with jitter. */
export class BackOff {
  readonly #random: () => number;
  #attempts = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Returns the next delay in ms: about 500 at first, at most 10,000. */
  next(): number {
    const delayMs = Math.min(delayMsMax, delayMsMin * 2 ** this.#attempts);
    this.#attempts += 1;
    return Math.round(Math.min(delayMsMax, delayMs * (1 - jitter + 2 * jitter * this.#random())));
  }

  reset(): void {
    this.#attempts = 0;
  }
}
