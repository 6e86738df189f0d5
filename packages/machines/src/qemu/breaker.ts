import type { Clock } from '@berth/lib/clock.ts';

/** Fewer failures in a row happen on a busy host. */
const failuresMax = 3;
const firstPauseMs = 30_000;
const pauseMsMax = 600_000;

/**
 * Circuit breaker of a template.
 *
 *     closed ──three failed clones in a row, or a failed template build──► open
 *     open ──one successful clone──► closed
 *
 * While it is open, machines boot cold. A new template is built after a pause,
 * which doubles after each failure.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #pauseMs = firstPauseMs;
  #retryAtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Failures since the last successful clone. */
  get failures(): number {
    return this.#failures;
  }

  get isOpen(): boolean {
    return this.#retryAtMs !== null;
  }

  /** Milliseconds until a new template may be built; null while the breaker is closed. */
  get pauseMs(): number | null {
    return this.#retryAtMs === null ? null : Math.max(0, this.#retryAtMs - this.#clock.monotonicMs());
  }

  /** Records a failed clone. Returns true when the template must be discarded: the breaker has opened, or was open already. */
  cloneFailed(): boolean {
    this.#failures += 1;
    if (!this.isOpen && this.#failures < failuresMax) return false;
    this.#open();
    return true;
  }

  /** Records a failed template build. */
  buildFailed(): void {
    this.#failures += 1;
    this.#open();
  }

  cloneWorked(): void {
    this.#failures = 0;
    this.#pauseMs = firstPauseMs;
    this.#retryAtMs = null;
  }

  #open(): void {
    this.#retryAtMs = this.#clock.monotonicMs() + this.#pauseMs;
    this.#pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2);
  }
}
