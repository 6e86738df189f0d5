/** The input of the checks. */
import type { LedgerSnapshot, Entry } from '../ledger-reader.ts';
import type { Operation, History } from '../history.ts';
import type { Schedule } from '../schedule.ts';

export interface CheckInput {
  schedule: Schedule;
  history: History;
  snapshot: LedgerSnapshot;
  /** The run that was stopped gracefully: its usage is stored completely. */
  lastRun: number;
}

/** The operation behind each journal entry, where it is known. */
export type EntryOrigins = Map<Entry, Operation>;
