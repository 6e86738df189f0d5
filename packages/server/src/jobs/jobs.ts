/** Jobs: work that goes on after its request was answered. Submit, poll, cancel; every job reaches an end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { Loop } from '../lib/loop.ts';
import { cancelled } from './ending.ts';
import { expireJobs, expiryOf } from './expiry.ts';
import { isJobId, newJobId, noProgress, type JobRecord } from './job.ts';
import type { JobOrder, LiveJob } from './live.ts';
import { Polls } from './polls.ts';
import { recoverJobs, type RecoverDeps } from './recover.ts';
import { Runs, type RunsDeps } from './runs.ts';
import { findJob, finishJob } from './store.ts';

export { resultBytesMax, type JobOutcome } from './ending.ts';
export { newJobId, stageOf, type JobKind, type JobProgress, type JobRecord } from './job.ts';
export { JobOver, type JobContext, type JobOrder } from './live.ts';

export interface JobsDeps extends RunsDeps, Pick<RecoverDeps, 'silentWorkers'> {}

interface Look {
  record: JobRecord;
  job: LiveJob | null;
}

/** How soon this worker notices what another one did to a job: a cancel here, an end there. */
const noticeMs = 500;
const drainPollMs = 50;

export class Jobs {
  readonly pulse: Loop;
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
    this.pulse = new Loop('job-pulse', noticeMs, () => this.#runs.pulse());
    this.recovery = new Loop('job-recovery', 5_000, (signal) => recoverJobs({ ...deps, live }, signal));
    this.expiry = new Loop('job-expiry', 60_000, (signal) => expireJobs(deps, signal));
    this.loops = [this.pulse, this.recovery, this.expiry];
  }

  /** Jobs of this worker that have no end yet, and the places that their work holds. */
  get load(): { pending: number; places: number } {
    return { pending: this.#runs.live.size, places: this.#runs.places };
  }

  /**
   * Takes work on. Resolves when the job is in the store: from then on it has
   * an end, whatever happens to this worker. It runs by itself, at once or when
   * its turn comes. Throws no_capacity, draining, store_unavailable.
   */
  async submit(order: JobOrder): Promise<JobRecord> {
    if (this.#draining)
      throw new ServiceError('draining', 'This worker is shutting down. Try again in a moment.', { retryAfterSeconds: 5 });
    const record = newRecord(order, this.#deps);
    await this.#runs.submit(order, record);
    return record;
  }

  /**
   * A job as it is now, or as soon as it is over within `waitSeconds`. Throws
   * job_not_found for an unknown, a foreign and an impossible id alike, and
   * job_expired to the owner of one whose result was dropped.
   */
  async get(owner: string, jobId: string, options: { waitSeconds?: number; signal: AbortSignal }): Promise<JobRecord> {
    const look = await this.#look(owner, jobId);
    const waitMs = (options.waitSeconds ?? 0) * 1000;
    const place = waitMs > 0 && look.record.status === 'pending' ? this.#polls.enter(owner) : null;
    if (!place) return look.record;
    try {
      return await this.#follow(look, waitMs, options.signal);
    } finally {
      place.leave();
    }
  }

  /** Ends a job as `error` with the code `cancelled`, whichever worker runs it. One that is over stays as it is. Throws like `get`. */
  async cancel(owner: string, jobId: string): Promise<JobRecord> {
    const { record, job } = await this.#look(owner, jobId);
    if (record.status !== 'pending') return record;
    if (job) await this.#runs.end(job, cancelled);
    else await this.#cancelElsewhere(jobId);
    return (await this.#look(owner, jobId)).record;
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Refuses new jobs and waits up to `graceMs` for those under way. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (let leftMs = graceMs; leftMs > 0 && this.#runs.live.size > 0; leftMs -= drainPollMs) await sleep(drainPollMs);
  }

  /** Ends what still runs as `draining`, which is worth a retry. Bounded, also where the work does not listen. */
  async stop(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.loops.map((loop) => loop.stop()));
    await this.#runs.stop();
  }

  /** The row, and the job where it is held here: asked for before the row, so that an end between the two is noticed. */
  async #look(owner: string, jobId: string): Promise<Look> {
    const job = this.#runs.live.get(jobId) ?? null;
    const record = isJobId(jobId) ? await findJob(this.#deps.store, owner, jobId) : undefined;
    if (!record) throw new ServiceError('job_not_found', 'There is no such job.');
    if (record.expiresAt && record.expiresAt <= this.#deps.clock.now())
      throw new ServiceError('job_expired', 'The job’s result is no longer kept.', {
        details: { expired_at: record.expiresAt.toISOString() },
      });
    return { job, record: job && record.status === 'pending' ? { ...record, progress: job.progress } : record };
  }

  async #follow(first: Look, waitMs: number, signal: AbortSignal): Promise<JobRecord> {
    const { owner, jobId } = first.record;
    let look = first;
    let leftMs = waitMs;
    while (leftMs > 0 && look.record.status === 'pending') {
      // A job that is held elsewhere, or by nobody yet, is looked at again and again.
      const pauseMs = look.job ? leftMs : Math.min(noticeMs, leftMs);
      const awake = look.job ? AbortSignal.any([signal, look.job.over.signal]) : signal;
      await sleep(pauseMs, undefined, { signal: awake }).catch(() => undefined);
      signal.throwIfAborted();
      leftMs -= pauseMs;
      look = await this.#look(owner, jobId);
    }
    return look.record;
  }

  /** The row is enough: the worker that runs the job sees within half a second that it is over, and stops. */
  async #cancelElsewhere(jobId: string): Promise<void> {
    const finishedAt = this.#deps.clock.now();
    await finishJob(this.#deps.store, jobId, { ...cancelled, finishedAt, expiresAt: expiryOf(finishedAt) });
  }
}

const newRecord = ({ owner, kind, sessionId, subject }: JobOrder, { clock, workerId }: JobsDeps): JobRecord => ({
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
