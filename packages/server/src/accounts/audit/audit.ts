/** The audit log. Entries are written in the transaction of the action that they record. */
import type { Clock } from '@berth/lib/clock.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Store, Tables } from '../../store/store.ts';
import { deleteEntries, insertEntries, listEntries, type AuditEntry, type AuditEvent, type AuditFilter } from './store.ts';

export type { AuditEntry, AuditEvent, AuditFilter } from './store.ts';

/** Over a year, to cover questions about last year's accounts. */
const retentionDays = 400;
const pruneMs = 3_600_000;
const deleteBatchSize = 1000;

export class Audit {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly pruning = new Loop('audit-pruning', pruneMs, (signal) => this.#prune(signal));

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `tables` is the transaction of the recorded action. */
  async record(tables: Tables, ...events: AuditEvent[]): Promise<void> {
    if (events.length > 0) await insertEntries(tables, events, this.#clock.now());
  }

  /** Newest first. */
  list(filter: AuditFilter): Promise<AuditEntry[]> {
    return listEntries(this.#store, filter);
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - retentionDays * 86_400_000);
    while (!signal.aborted && (await deleteEntries(this.#store, before, deleteBatchSize)) === deleteBatchSize);
  }
}
