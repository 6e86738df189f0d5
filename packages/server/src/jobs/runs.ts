import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { RetentionBudget, type Disk } from '../disk/disk.ts';
import type { Clock } from '../lib/clock.ts';
import { FairQueue, queueLimit } from '../lib/fair-queue.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { toExpiresAt } from './maintenance.ts';
import { JobEnded, LiveJob, type JobRecord, type JobRequest } from './job.ts';
import { drained, outcomeOfError, queueTimedOut, runTimedOut, toStoredOutcome, type StoredOutcome } from './outcome.ts';
import { finishJob, insertJob, listPendingJobs, markStarted, trimResults, writeProgress } from './store.ts';

export interface RunsDeps {
  store: Store;
  disk: Disk;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Concurrently running jobs of this worker. */
  runningMax: number;
  /** Queued jobs of this worker. */
  queuedMax: number;
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
/** Of one owner in the database: eight of the largest results. The oldest expire early. */
const ownerResultBytesMax = 256 * 1024 ** 2;

/** The jobs of this worker: queue, slots and ends. The store holds their durable state. */
export class Runs {
  readonly live = new Map<string, LiveJob>();
  readonly #deps: RunsDeps;
  readonly #queue = new FairQueue<LiveJob>();
  /** A slot is held until the work has stopped and its end is stored. */
  readonly #slots = new Map<LiveJob, Promise<void>>();
  readonly #budget: RetentionBudget;
  #stopping = false;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
    const { store, disk, clock } = deps;
    const trim = (owner: string, bytes: number): Promise<void> => trimResults(store, owner, { bytes, now: clock.now() });
    this.#budget = new RetentionBudget(disk, { bytesMax: ownerResultBytesMax, trim });
  }

  get slots(): number {
    return this.#slots.size;
  }

  /** Resolves when the job is stored. @throws ServiceError no_capacity, and what the store throws */
  async submit(request: JobRequest, record: JobRecord): Promise<void> {
    const { store, clock } = this.#deps;
    this.#deps.disk.assertRoom();
    this.#rejectWhenFull(request.owner);
    const job = new LiveJob(record.jobId, request, clock);
    // Before the insert: recovery ends rows that no worker runs.
    this.live.set(job.jobId, job);
    const inserted = insertJob(store, record, this.#overdueAt(request, record));
    job.stored = inserted.catch(() => undefined);
    try {
      await inserted;
    } catch (error) {
      this.#forget(job);
      throw error;
    }
    job.isStored = true;
    if (job.ending) return;
    this.#queue.push(request.owner, job);
    this.#fill();
  }

  /** Ends a job of this worker. Resolves when the end is stored; the first end counts. */
  end(job: LiveJob, outcome: StoredOutcome): Promise<void> {
    const { clock } = this.#deps;
    job.ending ??= { outcome, at: clock.now(), ms: clock.monotonicMs() };
    job.abort.abort(new JobEnded(job.jobId));
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
    if (this.live.size === 0) return;
    const jobs = [...this.live.values()];
    await Promise.all(jobs.filter((job) => job.ending && !job.writing).map((job) => this.#persistEnd(job)));
    const openJobs = jobs.filter((job) => job.isStored && !job.ending);
    const pending = new Set(await listPendingJobs(store, workerId));
    for (const job of openJobs) if (!pending.has(job.jobId)) this.#forget(job);
    await Promise.all(openJobs.map((job) => this.#writeProgress(job, nowMs)));
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

  #overdueAt({ queuedMsMax, runMsMax }: JobRequest, { createdAt }: JobRecord): Date {
    return new Date(createdAt.getTime() + queuedMsMax + runMsMax + runMarginMs + clockSkewMs);
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
    const slotsOf = (owner: string): number => [...this.#slots.keys()].filter((job) => job.request.owner === owner).length;
    while (this.#slots.size < this.#deps.runningMax && !this.#stopping) {
      const job = this.#queue.take(slotsOf);
      if (!job) return;
      job.started = { at: this.#deps.clock.now(), ms: this.#deps.clock.monotonicMs() };
      this.#slots.set(job, this.#run(job));
    }
  }

  async #run(job: LiveJob): Promise<void> {
    await this.#writeStarted(job);
    const ending = job.abort.signal.aborted ? null : await this.#work(job);
    // A failed write is retried by the next reconciliation.
    if (ending) await this.end(job, ending).catch(() => undefined);
    if (!job.ended.signal.aborted) await once(job.ended.signal, 'abort');
    this.#slots.delete(job);
    this.#fill();
  }

  async #writeStarted(job: LiveJob): Promise<void> {
    const { store, clock, log } = this.#deps;
    try {
      if (!(await markStarted(store, job.jobId, job.started?.at ?? clock.now()))) this.#forget(job);
    } catch (error) {
      // The start is written again with the end.
      log.warn({ err: error, job: job.jobId }, 'job start write failed');
    }
  }

  /** The work's outcome; null when the job has already ended. */
  async #work(job: LiveJob): Promise<StoredOutcome | null> {
    const { log } = this.#deps;
    job.hasStarted = true;
    job.isWorking = true;
    try {
      const outcome = await Promise.race([job.request.run(job.context()), job.abandoned.promise]);
      return outcome === 'abandoned' || job.ending ? null : toStoredOutcome(outcome);
    } catch (error) {
      if (job.abort.signal.aborted) return null;
      if (!(error instanceof ServiceError)) log.error({ err: error, job: job.jobId }, 'job failed unexpectedly');
      return outcomeOfError(error);
    } finally {
      job.isWorking = false;
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
      const ran = { startedAt: started?.at ?? null, progress };
      await finishJob(this.#deps.store, jobId, { ...ending.outcome, finishedAt: ending.at, expiresAt: toExpiresAt(ending.at), ran });
      await this.#limitResults(job.request.owner, ending.outcome.result?.length ?? 0);
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
    job.abort.abort(new JobEnded(job.jobId));
    if (!job.hasStarted && !job.ended.signal.aborted) job.request.onNeverStarted?.();
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
      if (!job.isWorking || !job.ending || nowMs - job.ending.ms <= windDownMsMax) continue;
      job.abandoned.resolve('abandoned');
      this.#deps.log.error({ job: job.jobId }, 'job slot released from unresponsive work');
    }
  }

  async #writeProgress(job: LiveJob, nowMs: number): Promise<void> {
    const progress = job.ending ? null : job.takeUnwrittenProgress(nowMs);
    if (progress) await writeProgress(this.#deps.store, job.jobId, progress);
  }
}
