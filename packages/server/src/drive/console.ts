/** Console lines of sessions, collected from the first time that somebody reads them. */
import { consoleLinesMax, type ConsoleLineResponse } from '@berth/contract';
import type { Browser } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';

type ConsoleSource = Pick<Browser, 'onConsole'>;

export class Consoles {
  readonly #clock: Clock;
  /** Go with their browsers. */
  readonly #lines = new WeakMap<ConsoleSource, ConsoleLineResponse[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The retained lines with a greater id, oldest first. */
  after(browser: ConsoleSource, id: number): ConsoleLineResponse[] {
    return this.#linesOf(browser)
      .slice(-consoleLinesMax)
      .filter((line) => line.id > id);
  }

  #linesOf(browser: ConsoleSource): ConsoleLineResponse[] {
    const known = this.#lines.get(browser);
    if (known) return known;
    const lines: ConsoleLineResponse[] = [];
    this.#lines.set(browser, lines);
    let lastId = 0;
    browser.onConsole(({ tabId, ...entry }) => {
      lines.push({ id: ++lastId, at: this.#clock.now().toISOString(), tab_id: tabId, ...entry });
      if (lines.length > 2 * consoleLinesMax) lines.splice(0, lines.length - consoleLinesMax);
    });
    return lines;
  }
}
