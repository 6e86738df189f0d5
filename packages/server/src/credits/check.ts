import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { LRUCache } from 'lru-cache';
import type { Store } from '../store/store.ts';
import { toCredits } from './amounts.ts';
import { ownersAfter, readSums, type Reading, type Sums } from './store.ts';

export interface CheckResult {
  /** When all wallets had been looked at; null before the first time. */
  at: Date | null;
  /** Wallets that are not what the journal and the holds say. */
  wrong: number;
}

/** One statement reads the entries of so many owners, and so many of each: a second of work at most. */
const ownersAtOnce = 100;
const entriesAtOnce = 10_000;
/** Of owners beyond that the journal is read from its start each time. */
const readingsMax = 100_000;

/**
 * Adds the journal up and compares it with what is kept: that of each owner with
 * its balance, and its holds with what is held back.
 *
 * The journal is only ever added to, and one owner's entries one after the
 * other, under the lock of its wallet. So what was added up once is not read again.
 */
export class Check {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #readings = new LRUCache<string, Reading>({ max: readingsMax });
  #result: CheckResult = { at: null, wrong: 0 };

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  get result(): CheckResult {
    return this.#result;
  }

  async run(signal: AbortSignal): Promise<void> {
    let wrong = 0;
    for (let after = ''; ;) {
      const owners = await ownersAfter(this.#store, after, ownersAtOnce);
      const last = owners.at(-1);
      if (last === undefined) break;
      for (const sums of await this.#readAll(owners, signal)) wrong += this.#judge(sums);
      if (signal.aborted) return;
      after = last;
    }
    this.#result = { at: this.#clock.now(), wrong };
  }

  /** Each owner's sums as of the statement that has read the last of its entries. */
  async #readAll(owners: string[], signal: AbortSignal): Promise<Sums[]> {
    const read: Sums[] = [];
    let open = owners.map((owner) => this.#readings.get(owner) ?? { owner, entryId: 0, sum: 0 });
    while (open.length > 0 && !signal.aborted) {
      const sums = await readSums(this.#store, open, entriesAtOnce);
      for (const { owner, entryId, sum } of sums) this.#readings.set(owner, { owner, entryId, sum });
      read.push(...sums.filter(({ entries }) => entries < entriesAtOnce));
      open = sums.filter(({ entries }) => entries === entriesAtOnce);
    }
    return read;
  }

  #judge({ owner, balance, sum, held, holds }: Sums): 0 | 1 {
    if (balance === sum && held === holds) return 0;
    const facts = { owner, balance: toCredits(balance), journal: toCredits(sum), held: toCredits(held), holds: toCredits(holds) };
    this.#log.error(facts, 'a wallet is not what its journal and its holds say');
    return 1;
  }
}
