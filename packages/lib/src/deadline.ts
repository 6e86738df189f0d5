import { systemClock, type Clock } from './clock.ts';

interface DeadlineOptions {
  /** The signal of the caller, who may leave sooner. */
  signal: AbortSignal;
  timeoutMs: number;
  clock?: Clock;
  /** Makes the error with which the signal aborts when the time is over. Without it the deadline only counts, and whoever waits ends. */
  reason?: () => Error;
}

/** The time of one call, across all its parts: the signal that ends it, and what is left of it. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #startMs: number;
  /** Aborts when the time is over, where this ends the call. */
  readonly #over: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor({ signal, timeoutMs, clock = systemClock, reason }: DeadlineOptions) {
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.signal = signal;
    if (!reason) return;
    const over = new AbortController();
    this.#over = over.signal;
    this.#timer = setTimeout(() => over.abort(reason()), timeoutMs);
    this.signal = AbortSignal.any([signal, over.signal]);
  }

  /** Runs work whose signal aborts when the time is over: with `reason`, or with a `TimeoutError`. */
  static async run<T>(options: DeadlineOptions, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline({ reason: timeoutError, ...options });
    try {
      return await work(deadline);
    } finally {
      deadline.end();
    }
  }

  get spentMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startMs);
  }

  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#startMs + this.timeoutMs - this.#clock.monotonicMs()));
  }

  /** Whether the time is over, not whether the caller has left. */
  get isOver(): boolean {
    return this.#over?.aborted === true || this.leftMs === 0;
  }

  /** A shorter deadline for a part of the call. */
  within(timeoutMs: number): Deadline {
    return new Deadline({ signal: this.signal, timeoutMs: Math.min(timeoutMs, this.leftMs), clock: this.#clock });
  }

  /** What is left, as options of one call: at least a millisecond, because none would be no limit to some. */
  rest(msMax = Infinity): { signal: AbortSignal; timeoutMs: number } {
    return { signal: this.signal, timeoutMs: Math.max(1, Math.min(this.leftMs, msMax)) };
  }

  /** Belongs to a deadline with a reason: its signal does not abort for the time any more. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Waits for work at most for a time: what it resolves with, or `late` when the time is over. The work goes on. @throws what the work throws */
export async function orAfter<T, L = undefined>(work: Promise<T>, ms: number, late?: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<L | undefined>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return (await Promise.race([work, over])) as T | L;
  } finally {
    clearTimeout(timer);
  }
}

const timeoutError = (): DOMException => new DOMException('The operation was aborted due to timeout', 'TimeoutError');

/**
 * Aborts with a `TimeoutError` when the time has passed. To be used in the place of `AbortSignal.timeout`, whose signals
 * Node marks, with every `AbortSignal.any` of them: one that is marked so, and is part of another `any`, is never given
 * free by Node 24 unless it aborts.
 */
export function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(timeoutError()), ms).unref();
  return controller.signal;
}
