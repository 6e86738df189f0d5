import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { RetentionBudget, type Disk } from '../../disk/disk.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { FairQueue, queueLimit } from '@berth/lib/turns/fair-queue.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Store } from '../../store/store.ts';
import { JobEndedError, LiveJob, type DescribedWork, type JobDescription, type JobKind, type JobRecord, type JobRequest } from './job.ts';
import type { LargeResults } from './large-results.ts';
import type { JobTransfer } from './job-transfer.ts';
import {
  cancelled,
  drained,
  endedAt,
  outcomeOfError,
  queueTimedOut,
  resultBytesMax,
  runTimedOut,
  toStoredOutcome,
  type StoredOutcome,
} from './outcome.ts';
import { finishJob, insertJob, listPendingJobs, markStarted, trimResults, writeProgress } from './store.ts';

export interface JobRunnerDeps {
  store: Store;
  disk: Disk;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Concurrently running jobs of this worker. */
  runningMax: number;
  /** Queued jobs of this worker. */
  queuedMax: number;
  /** null: no other worker shares the database. */
  transfer?: JobTransfer | null;
  /** Absent: all results are in the database. */
  largeResults?: Pick<LargeResults, 'move' | 'delete'> | null;
  /** Whether the operator lets this worker take jobs of others. Absent: yes. */
  takesWork?: () => boolean;
  /** How many slots an owner gets for each one of an owner with the weight 1. Absent: all are alike. */
  weightOf?: (owner: string) => number;
  /** Whether jobs of an owner stay with the worker that accepted them. Absent: none do. */
  isPinned?: (owner: string) => Promise<boolean>;
  /** Maximum bytes of one owner's results, in the database and in object storage. The oldest expire early. Absent: eight of the largest. */
  ownerResultBytesMax?: number;
}

/** Work enforces its own deadline and may still return a partial result; work that runs this much longer hangs. */
const runMarginMs = 10_000;
/** How long aborted work keeps its slot while it winds down. */
const windDownMsMax = 30_000;
/** How long `stop` waits for ends to be stored and work to wind down. */
const stopMsMax = 5_000;
/** How long a result is held in memory while the store is unavailable. */
const unwrittenResultMsMax = 120_000;
/** Clocks of hosts may differ or jump by an hour; no worker ends another's running job for that. */
const clockSkewMs = 2 * 3_600_000;
const retryAfterSeconds = 2;

/** The jobs of this worker: queue, slots and ends. The store holds their durable state. */
export class JobRunner {
  readonly live = new Map<string, LiveJob>();
  /** How jobs of other workers are run here, by kind. */
  readonly works = new Map<JobKind, DescribedWork>();
  readonly #deps: JobRunnerDeps;
  readonly #transfer: JobTransfer | null;
  #isTaking = false;
  /** Whether a job of another worker is about to be this one's: which one is known when it is. */
  #isClaiming = false;
  /** Whether jobs may wait at other workers. */
  #mayWait = false;
  readonly #queue = new FairQueue<LiveJob>();
  /** A slot is held until the work has stopped and its end is stored. */
  readonly #slots = new Map<LiveJob, Promise<void>>();
  readonly #budget: RetentionBudget;
  #stopping = false;
  /** Called when a job that other workers can run has to wait. */
  onWaiting: () => void = () => undefined;
  /** Called when a job starts. */
  onStarted: (job: { kind: JobKind; queuedMs: number }) => void = () => undefined;

  constructor(deps: JobRunnerDeps) {
    this.#deps = deps;
    this.#transfer = deps.transfer ?? null;
    const { store, disk, clock, largeResults, ownerResultBytesMax = 8 * resultBytesMax } = deps;
    const trim = async (owner: string, bytes: number): Promise<void> => {
      const moved = await trimResults(store, owner, { bytes, now: clock.now() });
      for (const jobId of moved) await largeResults?.delete(jobId);
    };
    this.#budget = new RetentionBudget(disk, { bytesMax: ownerResultBytesMax, trim });
  }

  get slots(): number {
    return this.#slots.size;
  }

  /** Whether this process has the job, or may be taking it. */
  has(jobId: string): boolean {
    return this.live.has(jobId) || this.#isClaiming;
  }

  /** Whether jobs of other workers are run here. */
  takeOffers(isTaking: boolean): void {
    this.#isTaking = isTaking;
  }

  get #hasRoom(): boolean {
    const { takesWork = () => true } = this.#deps;
    return this.#isTaking && !this.#stopping && takesWork() && this.#slots.size < this.#deps.runningMax;
  }

  /** Resolves when the job is stored. @throws ServiceError no_capacity, and what the store throws */
  async submit(request: JobRequest, record: JobRecord): Promise<void> {
    this.#deps.disk.assertRoom();
    this.#rejectWhenFull(request.owner);
    const job = this.#createJob(record, request);
    // Must precede the insert: recovery ends rows that no worker runs.
    this.live.set(job.jobId, job);
    const inserted = this.#insert(job, record);
    job.stored = inserted.catch(() => undefined);
    try {
      await inserted;
    } catch (error) {
      this.#forget(job);
      throw error;
    }
    if (job.ending) return;
    this.#queue.push(request.owner, job, { isFirst: request.isAwaited === true });
    this.#fill();
    if (!job.started && job.row === 'movable') this.onWaiting();
  }

  /** Takes jobs that wait at other workers, as many as there is room for: now, and as slots become free. */
  async takeWaiting(): Promise<void> {
    this.#mayWait = true;
    if (this.#isClaiming || !this.#transfer) return;
    this.#isClaiming = true;
    try {
      while (this.#mayWait && this.#hasRoom) {
        // Before the statement: what is offered meanwhile counts.
        this.#mayWait = false;
        const claimed = await this.#transfer.claim();
        if (claimed === 'none') continue;
        this.#mayWait = true;
        if (claimed) this.#adopt(claimed.record, claimed);
      }
    } catch (err) {
      this.#deps.log.warn({ err }, 'job offers not taken');
    } finally {
      this.#isClaiming = false;
    }
  }

  /** Leaves jobs to other workers: those that wait, or also those that run and have touched nothing. */
  async handOver(which: 'waiting' | 'all'): Promise<void> {
    const isLeft = ({ row, ending, started }: LiveJob): boolean => row === 'movable' && !ending && (which === 'all' || started === null);
    const jobs = new Map([...this.live].filter(([, job]) => isLeft(job)));
    const released = await this.#transfer?.release([...jobs.keys()], [this.#deps.workerId]);
    for (const [jobId, job] of jobs) if (released?.has(jobId)) this.#forget(job);
  }

  /** Ends a job of this worker. Resolves when the end is stored; the first end counts. */
  end(job: LiveJob, outcome: StoredOutcome): Promise<void> {
    const { clock } = this.#deps;
    job.ending ??= { outcome, at: clock.now(), ms: clock.monotonicMs() };
    job.abort.abort(new JobEndedError(job.jobId));
    return this.#persistEnd(job);
  }

  /**
   * Reconciles the running jobs with the store: ends overdue jobs, retries
   * failed writes, stops jobs that another worker has ended, stores progress.
   */
  async reconcile(): Promise<void> {
    const { store, clock, workerId } = this.#deps;
    const nowMs = clock.monotonicMs();
    this.#abandonUnresponsive(nowMs);
    this.#endOverdue(nowMs);
    this.#fill();
    if (this.live.size === 0) return;
    const jobs = [...this.live.values()];
    await Promise.all(jobs.filter((job) => job.ending && !job.writing).map((job) => this.#persistEnd(job)));
    const openJobs = jobs.filter((job) => job.row !== 'none' && !job.ending);
    const pending = new Set(await listPendingJobs(store, workerId));
    for (const job of openJobs) if (!pending.has(job.jobId)) this.#forget(job);
    await Promise.all(openJobs.map((job) => this.#writeProgress(job, nowMs)));
  }

  /** This worker lost its lease: its work stops, and what becomes of the jobs is up to those who recover them. */
  abandon(): void {
    for (const job of this.live.values()) if (!job.ending) this.#forget(job);
  }

  /** Ends all jobs and waits briefly for their work to wind down. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ends = [...this.live.values()].map((job) =>
      this.end(job, drained).catch((error: unknown) => this.#deps.log.error({ err: error, job: job.jobId }, 'job end write failed')),
    );
    const cancelTimeout = new AbortController();
    const timeout = sleep(stopMsMax, undefined, { signal: cancelTimeout.signal }).catch(() => undefined);
    await Promise.race([Promise.all([...ends, ...this.#slots.values()]), timeout]);
    cancelTimeout.abort();
  }

  #createJob(record: JobRecord, request: JobRequest): LiveJob {
    const job = new LiveJob(record, request, this.#deps.clock);
    if (this.#transfer) job.touch = this.#transfer.touchOf(job, () => this.#forget(job));
    return job;
  }

  async #insert(job: LiveJob, record: JobRecord): Promise<void> {
    const { isPinned } = this.#deps;
    const { description, queuedMsMax, runMsMax, owner } = job.request;
    const sealed = (this.#transfer && !(await isPinned?.(owner)) && (await this.#transfer.seal(description))) || null;
    const overdueAt = new Date(record.createdAt.getTime() + queuedMsMax + runMsMax + runMarginMs + clockSkewMs);
    await insertJob(this.#deps.store, record, { overdueAt, queueMsMax: Math.ceil(queuedMsMax), request: sealed });
    job.row = sealed ? 'movable' : 'bound';
  }

  /** Runs a job that another worker accepted, and that this one has claimed. */
  #adopt(record: JobRecord, { description, attempt }: { description: JobDescription; attempt: number }): void {
    const { jobId, owner, kind, sessionId, subject, createdAt, startedAt } = record;
    const work = this.works.get(kind);
    if (!work) throw new Error(`jobs of the kind ${kind} cannot move`);
    const job = this.#createJob(record, { ...work(description, record), owner, kind, sessionId, subject, description, queuedMsMax: 0 });
    job.row = 'movable';
    job.attempt = attempt;
    const at = startedAt ?? this.#deps.clock.now();
    job.started = { at, ms: job.admittedMs };
    this.live.set(jobId, job);
    this.onStarted({ kind, queuedMs: Math.max(0, at.getTime() - createdAt.getTime()) });
    this.#slots.set(job, this.#run(job));
  }

  #rejectWhenFull(owner: string): void {
    const { runningMax, queuedMax } = this.#deps;
    const waiting = [...this.live.values()].filter((job) => !job.started);
    const isQueued = waiting.some((job) => job.request.owner === owner);
    const free = Math.max(0, runningMax - this.#slots.size);
    if (waiting.length >= free + queueLimit(queuedMax, isQueued))
      throw new ServiceError('no_capacity', 'Too many jobs are waiting on this worker. Try again in a moment.', { retryAfterSeconds });
  }

  #fill(): void {
    const { weightOf = () => 1 } = this.#deps;
    const slotsOf = (owner: string): number =>
      [...this.#slots.keys()].filter((job) => job.request.owner === owner).length / weightOf(owner);
    while (this.#slots.size < this.#deps.runningMax && !this.#stopping) {
      const job = this.#queue.take(slotsOf);
      if (!job) break;
      job.started = { at: this.#deps.clock.now(), ms: this.#deps.clock.monotonicMs() };
      this.onStarted({ kind: job.request.kind, queuedMs: job.started.ms - job.admittedMs });
      this.#slots.set(
        job,
        this.#writeStarted(job).then((isOurs) => (isOurs ? this.#run(job) : this.#requeue(job))),
      );
    }
    if (this.#mayWait) void this.takeWaiting();
  }

  /** Queues a job whose start could not be written and that another worker may start. It waits for the next reconciliation. */
  #requeue(job: LiveJob): void {
    this.#slots.delete(job);
    job.started = null;
    this.#queue.push(job.request.owner, job, { isFirst: true });
  }

  async #run(job: LiveJob): Promise<void> {
    const ending = job.abort.signal.aborted ? null : await this.#work(job);
    // A failed write is retried by the next reconciliation.
    if (ending) await this.end(job, ending).catch(() => undefined);
    if (!job.ended.signal.aborted) await once(job.ended.signal, 'abort');
    this.#slots.delete(job);
    this.#fill();
  }

  /** False while it is unknown whether another worker has started the job. */
  async #writeStarted(job: LiveJob): Promise<boolean> {
    const { store, clock, log, workerId } = this.#deps;
    try {
      if (!(await markStarted(store, { jobId: job.jobId, workerId, startedAt: job.started?.at ?? clock.now() }))) this.#forget(job);
      return true;
    } catch (error) {
      // The start is written again with the end.
      log.warn({ err: error, job: job.jobId }, 'job start write failed');
      return job.offer === 'none' || job.ending !== null;
    }
  }

  /** The work's outcome; null when the job has already ended. */
  async #work(job: LiveJob): Promise<StoredOutcome | null> {
    const { log } = this.#deps;
    job.work = 'running';
    try {
      const outcome = await Promise.race([job.run(), job.abandoned.promise]);
      return outcome === 'abandoned' || job.ending ? null : await toStoredOutcome(outcome);
    } catch (error) {
      if (job.abort.signal.aborted) return null;
      if (!(error instanceof ServiceError)) log.error({ err: error, job: job.jobId }, 'job failed unexpectedly');
      return outcomeOfError(error);
    } finally {
      job.work = 'over';
    }
  }

  #persistEnd(job: LiveJob): Promise<void> {
    job.writing ??= this.#write(job).catch((error: unknown) => {
      job.writing = null;
      this.#onWriteFailed(job, error);
      throw error;
    });
    return job.writing;
  }

  /** Replaces a result that the store keeps rejecting with an error, so that the job ends eventually. */
  #onWriteFailed(job: LiveJob, error: unknown): void {
    const { clock, log } = this.#deps;
    if (!job.ending || (error instanceof ServiceError && clock.monotonicMs() - job.ending.ms < unwrittenResultMsMax)) return;
    log.error({ err: error, job: job.jobId }, 'job result dropped');
    job.ending.outcome = outcomeOfError(error);
  }

  async #write(job: LiveJob): Promise<void> {
    await job.stored;
    const { ending, started, progress, jobId } = job;
    if (ending?.outcome) {
      const { largeResults } = this.#deps;
      if (largeResults) ending.outcome = await largeResults.move(jobId, ending.outcome);
      const ran = { startedAt: started?.at ?? null, progress };
      // What it came to here counts only while it is this worker's; a cancel counts wherever it is.
      const workerId = ending.outcome === cancelled ? undefined : this.#deps.workerId;
      await finishJob(this.#deps.store, jobId, { ...ending.outcome, ...endedAt(ending.at), ran, workerId });
      await this.#limitResults(job.request.owner, ending.outcome.result?.length ?? ending.outcome.largeResultBytes ?? 0);
    }
    this.#forget(job);
  }

  /** A failure leaves more than allowed until the next result. */
  async #limitResults(owner: string, bytes: number): Promise<void> {
    await this.#budget.add(owner, bytes).catch((error: unknown) => this.#deps.log.warn({ err: error }, 'old job results not dropped'));
  }

  /** The job has ended in the store, or was never stored: drop it here. */
  #forget(job: LiveJob): void {
    const { clock } = this.#deps;
    this.live.delete(job.jobId);
    this.#queue.remove(job.request.owner, job);
    job.ending ??= { outcome: null, at: clock.now(), ms: clock.monotonicMs() };
    job.abort.abort(new JobEndedError(job.jobId));
    if (job.work === 'none' && !job.ended.signal.aborted) job.request.onNeverStarted?.();
    job.ended.abort();
  }

  #endOverdue(nowMs: number): void {
    for (const job of this.live.values()) {
      const { started, admittedMs, request, ending } = job;
      if (ending) continue;
      const isLate = started ? nowMs - started.ms > request.runMsMax + runMarginMs : nowMs - admittedMs > request.queuedMsMax;
      if (isLate) void this.end(job, started ? runTimedOut : queueTimedOut).catch(() => undefined);
    }
  }

  /** Frees the slots of work that ignores its signal. */
  #abandonUnresponsive(nowMs: number): void {
    for (const job of this.#slots.keys()) {
      if (job.work !== 'running' || !job.ending || nowMs - job.ending.ms <= windDownMsMax) continue;
      job.abandoned.resolve('abandoned');
      this.#deps.log.error({ job: job.jobId }, 'job slot released from unresponsive work');
    }
  }

  async #writeProgress(job: LiveJob, nowMs: number): Promise<void> {
    const progress = job.ending ? null : job.takeUnwrittenProgress(nowMs);
    if (progress) await writeProgress(this.#deps.store, job.jobId, progress);
  }
}
