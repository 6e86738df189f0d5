/** Jobs: work that continues after its request was answered. Submit, poll, cancel; every job ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { beginEffect } from '../../http/effects.ts';
import { abortAfter } from '@berth/lib/deadline.ts';
import { JsonReader } from '@berth/lib/json/reader.ts';
import { whenAborted } from '@berth/lib/or-abort.ts';
import { Loop } from '@berth/lib/loop.ts';
import { expireJobs, recoverJobs, type RecoverDeps } from './maintenance.ts';
import { isJobId, newJobId, noProgress, type DescribedWork, type JobKind, type JobRecord, type JobRequest, type LiveJob } from './job.ts';
import { JobTransfer } from './job-transfer.ts';
import type { LargeResults } from './large-results.ts';
import { cancelled, endedAt } from './outcome.ts';
import { JobRunner, type JobRunnerDeps } from './job-runner.ts';
import { countJobs, findJob, finishJob, listJobs, type JobFilter, type JobState, type ListedJob } from './store.ts';
import type { Listener } from '../../store/store.ts';

export { resultBytesMax, type JobOutcome } from './outcome.ts';
export {
  JobEndedError,
  isJobId,
  newJobId,
  sessionIdOf,
  stageOf,
  type JobContext,
  type JobDescription,
  type JobKind,
  type JobProgress,
  type JobRecord,
  type JobRequest,
  type JobSession,
  type JobWork,
} from './job.ts';
export { LargeResults } from './large-results.ts';
export { offersChannel, type JobFilter, type ListedJob } from './store.ts';

export interface JobsDeps extends Omit<JobRunnerDeps, 'transfer' | 'largeResults'>, Pick<RecoverDeps, 'silentWorkers'> {
  /** Absent: no other worker shares the database. `secret` is common to the fleet. */
  fleet?: { listener: Listener; secret: Buffer } | null;
  /** Absent: all results are in the database. */
  largeResults?: LargeResults | null;
}

interface JobSnapshot {
  record: JobRecord;
  job: LiveJob | null;
}

/** How soon this worker notices changes of a job by another one. */
const noticeMs = 500;
const drainPollMs = 50;
/** Time limit for reading a result's JSON in a thread. */
const readMsMax = 20_000;
/** How often it is looked whether jobs that wait are offered; they are at once when they come. */
const offerMs = 1000;

export class Jobs {
  readonly reconciliation: Loop;
  readonly recovery: Loop;
  readonly expiry: Loop;
  readonly offering: Loop;
  readonly loops: readonly Loop[];
  readonly #deps: JobsDeps;
  readonly #transfer: JobTransfer | null;
  readonly #runner: JobRunner;
  readonly #polls = new Polls();
  readonly #results: JsonReader;
  #draining = false;

  constructor(deps: JobsDeps) {
    this.#deps = deps;
    this.#results = new JsonReader(deps.log);
    this.#transfer = deps.fleet ? new JobTransfer({ ...deps, ...deps.fleet }) : null;
    this.#runner = new JobRunner({ ...deps, transfer: this.#transfer });
    const has = (jobId: string): boolean => this.#runner.has(jobId);
    this.reconciliation = new Loop('job-reconciliation', noticeMs, () => this.#runner.reconcile());
    this.recovery = new Loop('job-recovery', 5_000, async (signal) => {
      await recoverJobs({ ...deps, has, transfer: this.#transfer }, signal);
      // A notification may be lost.
      await this.#runner.takeWaiting();
    });
    this.offering = new Loop('job-offers', offerMs, async () => this.#transfer?.offerWaiting([...this.#runner.live.values()]));
    this.#runner.onWaiting = () => this.offering.nudge();
    this.expiry = new Loop('job-expiry', 60_000, (signal) => expireJobs(deps, signal));
    const { largeResults } = deps;
    this.loops = [
      ...[this.reconciliation, this.recovery, this.expiry],
      ...(this.#transfer ? [this.offering] : []),
      ...(largeResults ? [largeResults.pruning] : []),
    ];
  }

  /** How jobs of a kind are run that another worker accepted. */
  describe(kind: JobKind, work: DescribedWork): void {
    this.#runner.works.set(kind, work);
  }

  /** Jobs of this worker without a stored end, and the slots in use. */
  get load(): { pending: number; slots: number } {
    return { pending: this.#runner.live.size, slots: this.#runner.slots };
  }

  /** Called for each job of this worker that starts, with how long it was queued. */
  onStarted(listener: (job: { kind: JobKind; queuedMs: number }) => void): void {
    this.#runner.onStarted = listener;
  }

  /** Jobs of all owners and workers that can still be read. @throws ServiceError store_unavailable */
  async counts(): Promise<Record<JobState, number>> {
    const counts: Record<JobState, number> = { queued: 0, running: 0, ok: 0, blocked: 0, error: 0 };
    for (const { state, count } of await countJobs(this.#deps.store)) counts[state] = count;
    return counts;
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
    if ((await beginEffect({ job_id: record.jobId })) === false) throw takenOver();
    await this.#runner.submit(request, record);
    return record;
  }

  /**
   * Submits a job and waits for its end. A caller who leaves cancels it.
   * @throws what `submit` and `get` throw, and the signal's reason
   */
  async run(request: JobRequest, signal: AbortSignal): Promise<JobRecord> {
    const { owner } = request;
    const { jobId } = await this.submit(request);
    const job = this.#runner.live.get(jobId);
    if (job) {
      await whenAborted(AbortSignal.any([job.ended.signal, signal]));
      if (signal.aborted) await this.#runner.end(job, cancelled).catch(() => undefined);
    }
    signal.throwIfAborted();
    return (await this.#read(owner, jobId)).record;
  }

  /**
   * The job's current state; with `waitSeconds` waits until the job ends.
   * @throws ServiceError job_not_found, alike for unknown and malformed ids, those of other owners, and jobs that are not of `kind`
   * @throws ServiceError job_expired, to the owner of a job whose result was dropped
   */
  async get(owner: string, jobId: string, options: { kind?: JobKind; waitSeconds?: number; signal: AbortSignal }): Promise<JobRecord> {
    const snapshot = await this.#read(owner, jobId);
    if (options.kind && snapshot.record.kind !== options.kind) throw jobNotFound();
    const waitMs = (options.waitSeconds ?? 0) * 1000;
    const slot = waitMs > 0 && snapshot.record.status === 'pending' ? this.#polls.enter(owner) : null;
    if (!slot) return snapshot.record;
    try {
      return await this.#waitForEnd(snapshot, waitMs, options.signal);
    } finally {
      slot.leave();
    }
  }

  /** Jobs of an owner without their results, newest first. @throws ServiceError store_unavailable */
  async list(filter: JobFilter): Promise<ListedJob[]> {
    const { store, clock } = this.#deps;
    const listed = await listJobs(store, filter);
    const now = clock.now();
    return listed.map((job) => {
      const live = job.status === 'pending' ? this.#runner.live.get(job.jobId) : undefined;
      if (live) return { ...job, progress: live.progress };
      // The result is deleted within a minute of its time, and cannot be read from then on.
      return job.isDropped || (job.expiresAt && job.expiresAt <= now) ? { ...job, isDropped: true, outline: null, usage: null } : job;
    });
  }

  /** Ends a job as `error` with the code `cancelled`, on any worker. No effect on a job that has ended. Throws like `get`. */
  async cancel(owner: string, jobId: string): Promise<JobRecord> {
    const { record, job } = await this.#read(owner, jobId);
    if (record.status !== 'pending') return record;
    if (job) await this.#runner.end(job, cancelled);
    // Another worker may have taken it since it was read.
    if (!job || job.row === 'movable') await this.#cancelElsewhere(jobId);
    return (await this.#read(owner, jobId)).record;
  }

  start(): void {
    for (const loop of this.loops) loop.start();
    this.#runner.takeOffers(true);
    this.#deps.fleet?.listener.start(() => void this.#runner.takeWaiting());
  }

  /** Rejects new jobs, leaves those that wait to other workers, and waits up to `graceMs` for running ones. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    this.#runner.takeOffers(false);
    await this.#handOver('waiting');
    for (let leftMs = graceMs; leftMs > 0 && this.#runner.live.size > 0; leftMs -= drainPollMs) await sleep(drainPollMs);
  }

  /** Stops the work of this worker without ending its jobs: it has lost its lease. */
  abandon(): void {
    this.#runner.abandon();
  }

  /**
   * Leaves running jobs that have touched nothing to other workers, and ends the others with the retryable code
   * `draining`. Bounded, even if the work ignores its signal.
   */
  async stop(): Promise<void> {
    this.#draining = true;
    this.#runner.takeOffers(false);
    await Promise.all(this.loops.map((loop) => loop.stop()));
    await this.#handOver('all');
    await this.#runner.stop();
    await Promise.all([this.#deps.fleet?.listener.stop(), this.#results.close()]);
  }

  /** Hands jobs over to other workers. Those that cannot be handed over end with this worker. */
  async #handOver(which: 'waiting' | 'all'): Promise<void> {
    await this.#runner.handOver(which).catch((err: unknown) => this.#deps.log.warn({ err }, 'job handover failed'));
  }

  /** The row, and the job if this worker runs it. The job is looked up first, so that an end in between is noticed. */
  async #read(owner: string, jobId: string): Promise<JobSnapshot> {
    const job = this.#runner.live.get(jobId) ?? null;
    const stored = isJobId(jobId) ? await findJob(this.#deps.store, owner, jobId) : undefined;
    if (!stored) throw jobNotFound();
    const { record, hasLargeResult } = stored;
    if (record.expiresAt && record.expiresAt <= this.#deps.clock.now()) throw expired(record.expiresAt);
    const bytes = hasLargeResult ? await this.#readLarge(record) : stored.result;
    if (bytes) return { job, record: { ...record, result: await this.#parse(owner, bytes) } };
    return { job, record: job && record.status === 'pending' ? { ...record, progress: job.progress } : record };
  }

  async #parse(owner: string, bytes: Buffer): Promise<JobRecord['result']> {
    try {
      return (await this.#results.read(bytes, { owner, signal: abortAfter(readMsMax) })) as JobRecord['result'];
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      throw new ServiceError('store_unavailable', 'Too many large results are being read. Try again in a moment.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    }
  }

  async #readLarge({ jobId, expiresAt }: JobRecord): Promise<Buffer> {
    const bytes = await this.#deps.largeResults?.read(jobId);
    if (!bytes) throw expired(expiresAt ?? this.#deps.clock.now());
    return bytes;
  }

  async #waitForEnd(first: JobSnapshot, waitMs: number, signal: AbortSignal): Promise<JobRecord> {
    const { owner, jobId } = first.record;
    let snapshot = first;
    const endMs = performance.now() + waitMs;
    for (let leftMs = waitMs; leftMs > 0 && snapshot.record.status === 'pending'; leftMs = endMs - performance.now()) {
      // A job that this worker does not run is polled; one that another worker takes meanwhile, from then on.
      const pauseMs = snapshot.job ? leftMs : Math.min(noticeMs, leftMs);
      const awake = snapshot.job ? AbortSignal.any([signal, snapshot.job.ended.signal]) : signal;
      await sleep(pauseMs, undefined, { signal: awake }).catch(() => undefined);
      signal.throwIfAborted();
      snapshot = await this.#read(owner, jobId);
    }
    return snapshot.record;
  }

  /** Updates the row; the worker that runs the job notices within half a second and stops it. */
  async #cancelElsewhere(jobId: string): Promise<void> {
    await finishJob(this.#deps.store, jobId, { ...cancelled, ...endedAt(this.#deps.clock.now()) });
  }
}

const takenOver = (): ServiceError =>
  new ServiceError('idempotency_in_progress', 'This worker was taken for lost, and another one answers the request. Send it again.', {
    retryAfterSeconds: 1,
  });

const jobNotFound = (): ServiceError => new ServiceError('job_not_found', 'No such job. Jobs are deleted some time after they end.');

const expired = (at: Date): ServiceError =>
  new ServiceError('job_expired', 'The job’s result has expired. Start the job again.', { details: { expired_at: at.toISOString() } });

const newRecord = ({ owner, kind, sessionId, session = 'none', subject }: JobRequest, { clock, workerId }: JobsDeps): JobRecord => ({
  jobId: newJobId(sessionId),
  owner,
  sessionId,
  workerId,
  kind,
  status: 'pending',
  subject: { ...subject, job_session: session },
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
