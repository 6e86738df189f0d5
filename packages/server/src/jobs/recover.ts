import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { workerLost } from './ending.ts';
import { finishJob, strandedJobs } from './store.ts';
import { expiryOf } from './expiry.ts';

export interface RecoverDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  live: ReadonlyMap<string, unknown>;
  /** Workers that no longer tell that they live. */
  silentWorkers(): Promise<string[]>;
}

/**
 * Jobs that the store calls pending and that nobody runs: those of workers that
 * are silent, our own from before we died, and any that are longer under way
 * than they may be. Each is ended with `worker_lost`.
 */
export async function recoverJobs({ store, clock, log, workerId, live, silentWorkers }: RecoverDeps, signal: AbortSignal): Promise<void> {
  const workers = [...new Set([workerId, ...(await silentWorkers())])];
  for (const jobId of await strandedJobs(store, workers, clock.now())) {
    if (signal.aborted) return;
    if (live.has(jobId)) continue;
    const finishedAt = clock.now();
    if (await finishJob(store, jobId, { ...workerLost, finishedAt, expiresAt: expiryOf(finishedAt) }))
      log.warn({ job: jobId }, 'a job was ended whose worker is gone');
  }
}
