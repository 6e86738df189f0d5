import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { LRUCache } from 'lru-cache';
import type { Store } from '../../store/store.ts';
import { toCredits } from './ledger.ts';
import { ownersAfter, readSums, type Reading, type Sums } from './store.ts';

export interface CheckResult {
  /** End of the last complete check; null before the first one. */
  at: Date | null;
  /** Wallets that differ from their journal or holds. */
  wrong: number;
}

/** Limits one statement to about a second of work. */
const ownersAtOnce = 100;
const entriesAtOnce = 10_000;
/** Maximum readings kept: with more owners than this, some journals are read from the start each time. */
const readingsMax = 100_000;

/**
 * Compares each wallet with the sum of its journal and of its holds.
 *
 * The journal is append-only, and entries of one owner are appended under the
 * lock of its wallet. So entries that were summed once need not be read again.
 */
export class LedgerCheck {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  // A maximum of entries would allocate all of them at the start; a maximum of the size allocates as it grows.
  readonly #readings = new LRUCache<string, Reading>({ maxSize: readingsMax, sizeCalculation: () => 1 });
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
      for (const sums of await this.#readAll(owners, signal)) wrong += this.#compare(sums);
      if (signal.aborted) return;
      after = last;
    }
    this.#result = { at: this.#clock.now(), wrong };
  }

  /** Each owner's sums, as of the statement that read its last entry. */
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

  #compare({ owner, balance, sum, held, holds }: Sums): 0 | 1 {
    if (balance === sum && held === holds) return 0;
    const fields = { owner, balance: toCredits(balance), journal: toCredits(sum), held: toCredits(held), holds: toCredits(holds) };
    this.#log.error(fields, 'wallet mismatch found');
    return 1;
  }
}
