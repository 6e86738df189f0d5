import { setTimeout as wait } from 'node:timers/promises';
import { faultsOf } from './always.ts';
import type { Ledger, Reader } from './books.ts';

const everyMs = 150;

/** Looks at the books again and again while they are written. */
export class Probe {
  readonly complaints: string[] = [];
  readonly #reader: Reader;
  readonly #prefix: string;
  #last: Ledger | null = null;
  #isOver = false;
  #running: Promise<void> = Promise.resolve();

  constructor(reader: Reader, prefix: string) {
    this.#reader = reader;
    this.#prefix = prefix;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isOver && this.complaints.length === 0) {
      const ledger = await this.#reader.readLedger(this.#prefix);
      this.complaints.push(...faultsOf(ledger, this.#last).map((fault) => `while it ran: ${fault}`));
      this.#last = ledger;
      await wait(everyMs);
    }
  }
}
