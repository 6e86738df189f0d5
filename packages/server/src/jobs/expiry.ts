import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import { deleteDropped, dropResults } from './store.ts';

const resultRetentionMs = 24 * 3_600_000;
/** How long an id is answered with `job_expired` rather than `job_not_found`. */
const tombstoneRetentionMs = 30 * 24 * 3_600_000;

/** Rows per statement, few enough for the statement timeout with the largest results. */
const dropBatch = 20;
const deleteBatch = 1000;

export const toExpiresAt = (finishedAt: Date): Date => new Date(finishedAt.getTime() + resultRetentionMs);

/** Drops expired results, and deletes jobs whose result was dropped long ago. */
export async function expireJobs({ store, clock }: { store: Store; clock: Clock }, signal: AbortSignal): Promise<void> {
  const now = clock.now();
  const forgotten = new Date(now.getTime() - tombstoneRetentionMs);
  while (!signal.aborted && (await dropResults(store, now, dropBatch)) === dropBatch);
  while (!signal.aborted && (await deleteDropped(store, forgotten, deleteBatch)) === deleteBatch);
}
