import { setTimeout as sleep } from 'node:timers/promises';
import { findViolations } from './check/invariants.ts';
import type { Ledger, LedgerReader } from './ledger-reader.ts';

const intervalMs = 150;

/** Checks the invariants periodically while clients run. */
export class Probe {
  readonly issues: string[] = [];
  readonly #reader: LedgerReader;
  readonly #prefix: string;
  #last: Ledger | null = null;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(reader: LedgerReader, prefix: string) {
    this.#reader = reader;
    this.#prefix = prefix;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped && this.issues.length === 0) {
      const ledger = await this.#reader.readLedger(this.#prefix);
      this.issues.push(...findViolations(ledger, this.#last).map((violation) => `while clients ran: ${violation}`));
      this.#last = ledger;
      await sleep(intervalMs);
    }
  }
}
