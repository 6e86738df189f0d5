/** Jobs on a real store, with work that a test ends. */
import { ServiceError } from '@berth/contract';
import { createUnlimitedDisk } from './disk.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { Store, Tables } from '../src/store/store.ts';
import { Jobs, type JobContext, type JobOutcome, type JobRequest, type JobsDeps } from '../src/work/jobs/jobs.ts';

export const clock = new ManualClock();
export const never = new AbortController().signal;
export const hourMs = 3_600_000;
export const noWait = { signal: never };
/** Longer than any of these tests. */
export const untilDone = { waitSeconds: 25, signal: never };

export const makeJobs = (store: Store, deps: Partial<JobsDeps> = {}): Jobs =>
  new Jobs({
    store,
    disk: createUnlimitedDisk(),
    clock,
    log: silentLog,
    workerId: newId('wrk'),
    silentWorkers: () => Promise.resolve([]),
    runningMax: 4,
    queuedMax: 10,
    ...deps,
  });

export const insertOwners = async (tables: Tables, owners: string[]): Promise<void> => {
  const rows = owners.map((owner_id) => ({ owner_id, tier: 'self_hosted' }));
  await tables.tables<{ owners: { owner_id: string; tier: string } }>().insertInto('owners').values(rows).execute();
};

export const okOutcome = (result: Record<string, unknown> = { done: true }): JobOutcome => ({
  status: 'ok',
  result,
  error: null,
  usage: { actions: 1, egress_bytes: 10, captcha_solves: 0, credits: 0.01 },
});

export const requestOf = (request: Partial<JobRequest> = {}): JobRequest => ({
  owner: 'anna',
  kind: 'fetch',
  sessionId: newId('ses'),
  subject: { url: 'http://site.test/' },
  queuedMsMax: 60_000,
  runMsMax: 30_000,
  run: () => Promise.resolve(okOutcome()),
  ...request,
});

/** Work that reports its start and ends on demand. */
export class Work {
  readonly started = Promise.withResolvers<JobContext>();
  readonly gate = Promise.withResolvers<JobOutcome>();

  run = (context: JobContext): Promise<JobOutcome> => {
    this.started.resolve(context);
    return this.gate.promise;
  };

  end(result?: Record<string, unknown>): void {
    this.gate.resolve(okOutcome(result));
  }
}

/** Matches a ServiceError by its code. */
export const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;

/** The code of the error that anna's job ends with. */
export const codeOf = async (jobs: Jobs, jobId: string): Promise<string | undefined> =>
  (await jobs.get('anna', jobId, untilDone)).error?.code;

/** Runs one iteration of a loop that is not started. */
export async function turn(loop: Jobs['reconciliation']): Promise<void> {
  loop.nudge();
  await loop.idle();
}
