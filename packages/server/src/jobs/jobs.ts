/** Jobs: work that continues after its request was answered. Submit, poll, cancel; every job ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { Loop } from '../lib/loop.ts';
import { expireJobs, recoverJobs, toExpiresAt, type RecoverDeps } from './maintenance.ts';
import { isJobId, newJobId, noProgress, type JobRecord, type JobRequest, type LiveJob } from './job.ts';
import { cancelled } from './outcome.ts';
import { Runs, type RunsDeps } from './runs.ts';
import { findJob, finishJob } from './store.ts';

export { resultBytesMax, type JobOutcome } from './outcome.ts';
export { JobEnded, newJobId, stageOf, type JobContext, type JobKind, type JobProgress, type JobRecord, type JobRequest } from './job.ts';

export interface JobsDeps extends RunsDeps, Pick<RecoverDeps, 'silentWorkers'> {}

interface JobSnapshot {
  record: JobRecord;
  job: LiveJob | null;
}

/** How soon this worker notices changes of a job by another one. */
const noticeMs = 500;
const drainPollMs = 50;

export class Jobs {
  readonly reconciliation: Loop;
  readonly recovery: Loop;
  readonly expiry: Loop;
  readonly loops: readonly Loop[];
  readonly #deps: JobsDeps;
  readonly #runs: Runs;
  readonly #polls = new Polls();
  #draining = false;

  constructor(deps: JobsDeps) {
    this.#deps = deps;
    this.#runs = new Runs(deps);
    const { live } = this.#runs;
    this.reconciliation = new Loop('job-reconciliation', noticeMs, () => this.#runs.reconcile());
    this.recovery = new Loop('job-recovery', 5_000, (signal) => recoverJobs({ ...deps, live }, signal));
    this.expiry = new Loop('job-expiry', 60_000, (signal) => expireJobs(deps, signal));
    this.loops = [this.reconciliation, this.recovery, this.expiry];
  }

  /** Jobs of this worker without a stored end, and the slots in use. */
  get load(): { pending: number; slots: number } {
    return { pending: this.#runs.live.size, slots: this.#runs.slots };
  }

  /**
   * Submits a job. Resolves when it is stored: from then on it will end, even if
   * this worker crashes.
   * @throws ServiceError no_capacity, draining, store_unavailable
   */
  async submit(request: JobRequest): Promise<JobRecord> {
    if (this.#draining)
      throw new ServiceError('draining', 'This worker is shutting down. Try again in a few seconds.', { retryAfterSeconds: 5 });
    const record = newRecord(request, this.#deps);
    await this.#runs.submit(request, record);
    return record;
  }

  /**
   * The job's current state; with `waitSeconds` waits until the job ends.
   * @throws ServiceError job_not_found, alike for unknown and malformed ids and those of other owners
   * @throws ServiceError job_expired, to the owner of a job whose result was dropped
   */
  async get(owner: string, jobId: string, options: { waitSeconds?: number; signal: AbortSignal }): Promise<JobRecord> {
    const snapshot = await this.#read(owner, jobId);
    const waitMs = (options.waitSeconds ?? 0) * 1000;
    const slot = waitMs > 0 && snapshot.record.status === 'pending' ? this.#polls.enter(owner) : null;
    if (!slot) return snapshot.record;
    try {
      return await this.#waitForEnd(snapshot, waitMs, options.signal);
    } finally {
      slot.leave();
    }
  }

  /** Ends a job as `error` with the code `cancelled`, on any worker. No effect on a job that has ended. Throws like `get`. */
  async cancel(owner: string, jobId: string): Promise<JobRecord> {
    const { record, job } = await this.#read(owner, jobId);
    if (record.status !== 'pending') return record;
    if (job) await this.#runs.end(job, cancelled);
    else await this.#cancelElsewhere(jobId);
    return (await this.#read(owner, jobId)).record;
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Rejects new jobs and waits up to `graceMs` for running ones. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (let leftMs = graceMs; leftMs > 0 && this.#runs.live.size > 0; leftMs -= drainPollMs) await sleep(drainPollMs);
  }

  /** Ends running jobs with the retryable code `draining`. Bounded, even if the work ignores its signal. */
  async stop(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.loops.map((loop) => loop.stop()));
    await this.#runs.stop();
  }

  /** The row, and the job if this worker runs it. The job is looked up first, so that an end in between is noticed. */
  async #read(owner: string, jobId: string): Promise<JobSnapshot> {
    const job = this.#runs.live.get(jobId) ?? null;
    const record = isJobId(jobId) ? await findJob(this.#deps.store, owner, jobId) : undefined;
    if (!record) throw new ServiceError('job_not_found', 'No such job. Jobs are deleted some time after they end.');
    if (record.expiresAt && record.expiresAt <= this.#deps.clock.now())
      throw new ServiceError('job_expired', 'The job’s result has expired. Start the job again.', {
        details: { expired_at: record.expiresAt.toISOString() },
      });
    return { job, record: job && record.status === 'pending' ? { ...record, progress: job.progress } : record };
  }

  async #waitForEnd(first: JobSnapshot, waitMs: number, signal: AbortSignal): Promise<JobRecord> {
    const { owner, jobId } = first.record;
    let snapshot = first;
    let leftMs = waitMs;
    while (leftMs > 0 && snapshot.record.status === 'pending') {
      // A job that this worker does not run is polled.
      const pauseMs = snapshot.job ? leftMs : Math.min(noticeMs, leftMs);
      const awake = snapshot.job ? AbortSignal.any([signal, snapshot.job.ended.signal]) : signal;
      await sleep(pauseMs, undefined, { signal: awake }).catch(() => undefined);
      signal.throwIfAborted();
      leftMs -= pauseMs;
      snapshot = await this.#read(owner, jobId);
    }
    return snapshot.record;
  }

  /** Updates the row; the worker that runs the job notices within half a second and stops it. */
  async #cancelElsewhere(jobId: string): Promise<void> {
    const finishedAt = this.#deps.clock.now();
    await finishJob(this.#deps.store, jobId, { ...cancelled, finishedAt, expiresAt: toExpiresAt(finishedAt) });
  }
}

const newRecord = ({ owner, kind, sessionId, subject }: JobRequest, { clock, workerId }: JobsDeps): JobRecord => ({
  jobId: newJobId(sessionId),
  owner,
  sessionId,
  workerId,
  kind,
  status: 'pending',
  subject,
  progress: noProgress,
  createdAt: clock.now(),
  startedAt: null,
  finishedAt: null,
  expiresAt: null,
  result: null,
  error: null,
  usage: null,
});

/** Each poll holds a connection, and polls of another worker's job query the store twice a second. */
const pollsMax = 500;
/** Leaves room for other owners. */
const ownerPollsMax = 200;

/** Limits concurrent long polls. A poll beyond the limit is answered at once, as without a wait. */
export class Polls {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** null at the limit. */
  enter(owner: string): { leave: () => void } | null {
    const own = this.#open.get(owner) ?? 0;
    if (this.#total >= pollsMax || own >= ownerPollsMax) return null;
    this.#total += 1;
    this.#open.set(owner, own + 1);
    return { leave: () => this.#leave(owner) };
  }

  #leave(owner: string): void {
    const left = (this.#open.get(owner) ?? 1) - 1;
    this.#total -= 1;
    if (left > 0) this.#open.set(owner, left);
    else this.#open.delete(owner);
  }
}
