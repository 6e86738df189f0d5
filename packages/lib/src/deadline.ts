import { systemClock, type Clock } from './clock.ts';

/** The time left for one call, across all its parts. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #startMs: number;

  constructor({ signal, timeoutMs, clock = systemClock }: { signal: AbortSignal; timeoutMs: number; clock?: Clock }) {
    this.signal = signal;
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
  }

  get spentMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startMs);
  }

  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#startMs + this.timeoutMs - this.#clock.monotonicMs()));
  }

  /** A shorter deadline for a part of the call. */
  within(timeoutMs: number): Deadline {
    return new Deadline({ signal: this.signal, timeoutMs: Math.min(timeoutMs, this.leftMs), clock: this.#clock });
  }
}

/**
 * Aborts with a `TimeoutError` when the time has passed. To be used in the place of `AbortSignal.timeout`, whose signals
 * Node marks, with every `AbortSignal.any` of them: one that is marked so, and is part of another `any`, is never given
 * free by Node 24 unless it aborts.
 */
export function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  const late = (): void => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  setTimeout(late, ms).unref();
  return controller.signal;
}

/** Runs work under a signal that aborts with the given one, or with `reason` when the time has passed. */
export async function withDeadline<T>(
  signal: AbortSignal,
  { ms, reason }: { ms: number; reason: () => Error },
  work: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(reason()), ms);
  try {
    return await work(AbortSignal.any([signal, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}
