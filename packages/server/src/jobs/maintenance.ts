import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { workerLost } from './outcome.ts';
import { deleteDropped, dropResults, finishJob, listStrandedJobs } from './store.ts';

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

export interface RecoverDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  live: ReadonlyMap<string, unknown>;
  /** Workers without a recent heartbeat. */
  silentWorkers(): Promise<string[]>;
}

/**
 * Ends pending jobs that no worker runs with `worker_lost`: those of workers
 * without a heartbeat, this worker's own from before a crash, and overdue ones.
 */
export async function recoverJobs({ store, clock, log, workerId, live, silentWorkers }: RecoverDeps, signal: AbortSignal): Promise<void> {
  const workers = [...new Set([workerId, ...(await silentWorkers())])];
  for (const jobId of await listStrandedJobs(store, workers, clock.now())) {
    if (signal.aborted) return;
    if (live.has(jobId)) continue;
    const finishedAt = clock.now();
    if (await finishJob(store, jobId, { ...workerLost, finishedAt, expiresAt: toExpiresAt(finishedAt) }))
      log.warn({ job: jobId }, 'job of a lost worker ended');
  }
}
