/**
 * Time as a dependency, so that tests move it instead of sleeping.
 *
 * `now` is the wall clock, for timestamps. `monotonicMs` never jumps and is for
 * measuring and waiting.
 */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** Options of an lru-cache whose entries expire by `clock`. It takes a time of 0 for none, hence the 1. */
export const expiringBy = (clock: Clock): { ttlResolution: 0; perf: { now(): number } } => ({
  ttlResolution: 0,
  perf: { now: () => clock.monotonicMs() + 1 },
});

/** A clock that moves only by `advance`. */
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
