/**
 * Scales time limits to the speed of the machine.
 *
 * Limits are written for a browser on bare hardware. On a slower machine the
 * limits that detect a hung browser are scaled; otherwise a slow page would be
 * treated as hung, a slow browser as frozen, a late title or frame as missing.
 *
 * | limit | scaled |
 * |---|---|
 * | a reply of the browser, a page or a frame; a screenshot, a document, a tab that opens or closes | yes |
 * | the same within a caller's `timeout_ms` or budget | yes, up to the time left |
 * | `timeout_ms` itself, and waits after it has elapsed | no, it is a promise |
 * | network idle, a client that may answer a dialog, a viewer that reconnects | no, the time itself is meant |
 * | polling intervals | no |
 * | viewers' connections, sites, encoders, disks, captcha solvers | no, not the browser |
 */

/** A frozen browser must be detected, however slow its machine is. */
const scaledMsMax = 120_000;

export class TimeoutScale {
  readonly #slowness: number;

  /** `slowness`: how many times slower than bare hardware. */
  constructor(slowness = 1) {
    this.#slowness = Math.max(1, slowness);
  }

  /** Scales a limit: at most `leftMs` of the caller's time and two minutes, at least `baseMs`. */
  ms(baseMs: number, leftMs = Infinity): number {
    return Math.max(baseMs, Math.min(baseMs * this.#slowness, leftMs, scaledMsMax));
  }
}
