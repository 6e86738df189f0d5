import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import { deleteDropped, dropResults } from './store.ts';

const resultKeptMs = 24 * 3_600_000;
/** For how long an id still tells "expired" rather than "unknown". */
const tombstoneKeptMs = 30 * 24 * 3_600_000;

/** Rows in one statement. Results are large: dropping this many of the largest is well within a statement's time. */
const dropBatch = 20;
const deleteBatch = 1000;

export const expiryOf = (finishedAt: Date): Date => new Date(finishedAt.getTime() + resultKeptMs);

/** Drops the results whose time is up, and forgets the jobs that have been without one for long. */
export async function expireJobs({ store, clock }: { store: Store; clock: Clock }, signal: AbortSignal): Promise<void> {
  const now = clock.now();
  const forgotten = new Date(now.getTime() - tombstoneKeptMs);
  while (!signal.aborted && (await dropResults(store, now, dropBatch)) === dropBatch);
  while (!signal.aborted && (await deleteDropped(store, forgotten, deleteBatch)) === deleteBatch);
}
