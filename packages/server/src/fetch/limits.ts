/** Bounds on one fetch: its time, and what it holds in the worker's memory. */
import type { Clock } from '../lib/clock.ts';

/** Larger content is cut, and `warnings` say so. */
export const limits = {
  /** Of a rendered page's HTML. */
  htmlBytesMax: 8 * 1024 * 1024,
  /** Of a response that is not a page, and of the format `raw`. */
  rawBytesMax: 12 * 1024 * 1024,
  /** Of a plain response as it is sent, before it is decompressed. */
  wireBytesMax: 12 * 1024 * 1024,
  screenshotBytesMax: 12 * 1024 * 1024,
  pdfBytesMax: 12 * 1024 * 1024,
  redirectsMax: 20,
  robotsBytesMax: 512 * 1024,
} as const;

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
