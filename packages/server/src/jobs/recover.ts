import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { workerLost } from './outcome.ts';
import { finishJob, listStrandedJobs } from './store.ts';
import { toExpiresAt } from './expiry.ts';

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
