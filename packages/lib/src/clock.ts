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

/** A correction below this is within what a reading may be wrong. */
const correctionMsMin = 250;

/**
 * The clock of a database that several hosts share, so that times which one of them
 * stores mean the same to the others, whatever their own clocks say.
 */
export class DatabaseClock implements Clock {
  readonly #own: Clock;
  #offsetMs = 0;

  constructor(own: Clock) {
    this.#own = own;
  }

  now(): Date {
    return new Date(this.#own.now().getTime() + this.#offsetMs);
  }

  monotonicMs(): number {
    return this.#own.monotonicMs();
  }

  /** Sets the clock by a reading of the database's, which may be as old as the reading took. */
  set(theirs: Date, { askedMs, answeredMs }: { askedMs: number; answeredMs: number }): void {
    const tookMs = answeredMs - askedMs;
    const errorMs = theirs.getTime() + tookMs / 2 - this.now().getTime();
    if (Math.abs(errorMs) > Math.max(correctionMsMin, tookMs)) this.#offsetMs += errorMs;
  }
}

/** Options of an lru-cache whose entries expire by `clock`. It takes a time of 0 for none, hence the 1. */
export const expiringBy = (clock: Clock): { ttlResolution: 0; perf: { now(): number } } => ({
  ttlResolution: 0,
  perf: { now: () => clock.monotonicMs() + 1 },
});

/** A clock that moves only by `advance` and `jump`. */
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

  /** The wall clock is set, and no time passes. */
  jump(ms: number): void {
    this.#epochMs += ms;
  }
}
