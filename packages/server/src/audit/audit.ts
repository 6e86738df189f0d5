/** Who did what: written in the transaction of the deed, so that neither is there without the other. */
import type { Clock } from '../lib/clock.ts';
import { Loop } from '../lib/loop.ts';
import type { Store, Tables } from '../store/store.ts';
import type { AuditEntry, AuditEvent, AuditFilter } from './entry.ts';
import { deleteEntries, insertEntries, listEntries } from './store.ts';

export type { AuditEntry, AuditEvent, AuditFilter } from './entry.ts';

/** Over a year, so that what is asked about last year's books is still there. */
const keptDays = 400;
const pruneMs = 3_600_000;
const deletedAtOnce = 1000;

export class Audit {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly pruning = new Loop('audit-pruning', pruneMs, (signal) => this.#prune(signal));

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** In the transaction of the deed itself. */
  async record(tables: Tables, ...events: AuditEvent[]): Promise<void> {
    if (events.length > 0) await insertEntries(tables, events, this.#clock.now());
  }

  /** Newest first. */
  list(filter: AuditFilter): Promise<AuditEntry[]> {
    return listEntries(this.#store, filter);
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - keptDays * 86_400_000);
    while (!signal.aborted && (await deleteEntries(this.#store, before, deletedAtOnce)) === deletedAtOnce);
  }
}
