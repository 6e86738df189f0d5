import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { JobTransfer } from './job-transfer.ts';
import { endedAt, queueTimedOut, workerLost } from './outcome.ts';
import { deleteDropped, dropResults, finishJob, listStrandedJobs, listUntakenJobs } from './store.ts';

/** How long an id is answered with `job_expired` rather than `job_not_found`. */
const tombstoneRetentionMs = 30 * 24 * 3_600_000;

/** Rows per statement, few enough for the statement timeout with the largest results. */
const dropBatch = 20;
const deleteBatch = 1000;

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
  /** Whether this process has the job. */
  has(jobId: string): boolean;
  /** null: no other worker shares the database. */
  transfer: JobTransfer | null;
  /** Workers without a recent heartbeat. */
  silentWorkers(): Promise<string[]>;
}

/**
 * Pending jobs that no worker runs: those of workers without a heartbeat, this
 * worker's own from before a crash, and overdue ones. They are left to any worker
 * of the fleet where they can be run again, else they end with `worker_lost`.
 * What then waits for longer than it may has timed out, as on a worker.
 */
export async function recoverJobs(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, log, workerId, has, transfer, silentWorkers } = deps;
  const workers = [...new Set([workerId, ...(await silentWorkers())])];
  const stranded = (await listStrandedJobs(store, workers, clock.now())).filter((jobId) => !has(jobId));
  const released = await transfer?.release(stranded, workers);
  if (released?.size) log.warn({ jobs: released.size }, 'jobs of a lost worker released');
  for (const jobId of transfer ? await listUntakenJobs(store, clock.now()) : [])
    await finishJob(store, jobId, { ...queueTimedOut, ...endedAt(clock.now()), workerId: '' });
  for (const jobId of stranded) {
    if (signal.aborted) return;
    if (released?.has(jobId)) continue;
    if (await finishJob(store, jobId, { ...workerLost, ...endedAt(clock.now()) })) log.warn({ job: jobId }, 'job of a lost worker ended');
  }
}
