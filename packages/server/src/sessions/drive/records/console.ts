/** Console lines of sessions, collected from the first time that somebody reads them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleLinesMax, type ConsoleLineResponse } from '@berth/contract';
import type { Browser } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';

type ConsoleSource = Pick<Browser, 'onConsole' | 'consoleListening'>;

interface Collected {
  lines: ConsoleLineResponse[];
  /** Its pages report their lines, but for those that hang. */
  listening: Promise<void>;
}

/** Pages reply within milliseconds. */
const listeningMsMax = 2000;

export class Consoles {
  readonly #clock: Clock;
  /** Go with their browsers. */
  readonly #collected = new WeakMap<ConsoleSource, Collected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The retained lines with a greater id, oldest first. What is logged after the first reply is among the later ones. */
  async after(browser: ConsoleSource, id: number): Promise<ConsoleLineResponse[]> {
    const { lines, listening } = this.#collectedOf(browser);
    await listening;
    return lines.slice(-consoleLinesMax).filter((line) => line.id > id);
  }

  #collectedOf(browser: ConsoleSource): Collected {
    const known = this.#collected.get(browser);
    if (known) return known;
    const lines: ConsoleLineResponse[] = [];
    let lastId = 0;
    browser.onConsole(({ tabId, ...entry }) => {
      lines.push({ id: ++lastId, at: this.#clock.now().toISOString(), tab_id: tabId, ...entry });
      if (lines.length > 2 * consoleLinesMax) lines.splice(0, lines.length - consoleLinesMax);
    });
    const collected = { lines, listening: withinLimit(browser.consoleListening()) };
    this.#collected.set(browser, collected);
    return collected;
  }
}

async function withinLimit(listening: Promise<void>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([listening, sleep(listeningMsMax, undefined, { signal: timer.signal })]).finally(() => timer.abort());
}
