/**
 * Time as a dependency, so that tests move it instead of sleeping.
 *
 * `now` is the wall clock, for what is told and kept. `monotonicMs` never
 * jumps, for everything that measures or waits.
 */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #epochMs: number;
  #elapsedMs = 0;

  constructor(start: Date = new Date('2026-01-01T00:00:00.000Z')) {
    this.#epochMs = start.getTime();
  }

  now(): Date {
    return new Date(this.#epochMs + this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  advance(ms: number): void {
    this.#elapsedMs += ms;
  }
}
