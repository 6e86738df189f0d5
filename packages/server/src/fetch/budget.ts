import type { Clock } from '../lib/clock.ts';

/** The time that a fetch may take, retries and all. */
export class Budget {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #totalMs: number;

  constructor(clock: Clock, totalMs: number) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#totalMs = totalMs;
  }

  spentMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startMs);
  }

  leftMs(): number {
    return Math.max(0, Math.round(this.#totalMs - (this.#clock.monotonicMs() - this.#startMs)));
  }
}
