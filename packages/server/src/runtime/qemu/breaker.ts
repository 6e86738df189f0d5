import type { Clock } from '../../lib/clock.ts';

/** Fewer failures in a row are what a busy host makes. */
const failuresMax = 3;
const firstPauseMs = 30_000;
const longestPauseMs = 600_000;

/**
 * Whether a template is to be trusted.
 *
 *     closed ──three failures in a row, or a template that cannot be made──► open
 *     open ──one machine that was cloned well──► closed
 *
 * While it is open, machines are booted without a template; a new one is made
 * after a pause, which doubles each time that the last did not help.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #pauseMs = firstPauseMs;
  #retryAtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Since a machine was last cloned well. */
  get failures(): number {
    return this.#failures;
  }

  get isOpen(): boolean {
    return this.#retryAtMs !== null;
  }

  /** How long until a new template may be made; null while the breaker is closed. */
  get pauseMs(): number | null {
    return this.#retryAtMs === null ? null : Math.max(0, this.#retryAtMs - this.#clock.monotonicMs());
  }

  /** A machine could not be cloned. True when the template is thrown away for it: the breaker has opened, or stays open because a new template is no better. */
  cloneFailed(): boolean {
    this.#failures += 1;
    if (!this.isOpen && this.#failures < failuresMax) return false;
    this.#open();
    return true;
  }

  /** No template could be made. */
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
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
  }
}
