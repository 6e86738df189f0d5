/**
 * How long a browser is given, before something is made of its not answering.
 *
 * Limits are written as they are for a browser on the processor itself. Where
 * its machine is slower, those that judge it by its speed are stretched: else
 * a page is held for hung, a browser for frozen, a title or a frame for
 * missing that is only slow to come.
 *
 * | limit | here |
 * |---|---|
 * | an answer of the browser, of a page, of a frame; a picture, a document, a tab that comes or goes | stretched |
 * | the same within a caller's `timeout_ms` or budget | stretched as far as there is time left |
 * | `timeout_ms` itself, and what is waited for when it is over | promised, so never stretched |
 * | a quiet network, a client that may answer a dialog, a reader who comes back | means a time, so left |
 * | how often is asked, looked, told | a pace, so left |
 * | viewers' lines, sites, encoders, disks, endpoints that solve captchas | not the browser, so left |
 */

/** A browser that is frozen is to be noticed, however slow its machine may be. */
const longestMs = 120_000;

export class Patience {
  readonly #slowness: number;

  /** `slowness`: how many times slower than on the processor itself. */
  constructor(slowness = 1) {
    this.#slowness = Math.max(1, slowness);
  }

  /** A limit as it is here: no longer than `leftMs` of somebody's time, nor than two minutes, unless it always was. */
  ms(usualMs: number, leftMs = Infinity): number {
    return Math.max(usualMs, Math.min(usualMs * this.#slowness, leftMs, longestMs));
  }
}
