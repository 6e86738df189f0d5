import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { drained, endingOf, endingOfThrown, neverStarted, outlived, type Ending } from './ending.ts';
import { expiryOf } from './expiry.ts';
import type { JobRecord } from './job.ts';
import { JobOver, LiveJob, type JobOrder } from './live.ts';
import { finishJob, insertJob, markStarted, pendingOf, writeProgress } from './store.ts';

export interface RunsDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Jobs at work at once on this worker. */
  runningMax: number;
  /** Jobs that wait for a place on this worker. */
  queuedMax: number;
}

/** Work knows its own deadline and is left to tell what it has by then; what is silent this long after hangs. */
const runMarginMs = 10_000;
/** How long work that was told to stop keeps its place while it winds down. */
const windDownMsMax = 30_000;
/** How long a stop waits for ends to be written and work to wind down. */
const stopMsMax = 5_000;
/** How long a result is held in memory for a store that does not take it. */
const unwrittenMsMax = 120_000;
/** Hosts' clocks may differ, or jump by an hour, before one worker gives up what another still runs. */
const clockSkewMs = 2 * 3_600_000;
/** This part of the queue takes nothing from owners who have something in it already. */
const reservedPart = 1 / 8;
const retryAfterSeconds = 2;

/** The jobs of this worker: their queue, their places, their ends. What is durable of them is in the store. */
export class Runs {
  readonly live = new Map<string, LiveJob>();
  readonly #deps: RunsDeps;
  readonly #queue = new FairQueue<LiveJob>();
  /** A place is held until the work has stopped and its end is written. */
  readonly #places = new Map<LiveJob, Promise<void>>();
  #stopping = false;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
  }

  get places(): number {
    return this.#places.size;
  }

  /** Resolves when the job is in the store. Throws no_capacity, and what the store throws. */
  async submit(order: JobOrder, record: JobRecord): Promise<void> {
    const { store, clock } = this.#deps;
    this.#refuseWhenFull(order.owner);
    const job = new LiveJob(record.jobId, order, clock);
    // Before its row is there: a row that nobody holds is taken for one that was left behind.
    this.live.set(job.jobId, job);
    const inserted = insertJob(store, record, this.#overdueAt(order, record));
    job.stored = inserted.catch(() => undefined);
    try {
      await inserted;
    } catch (error) {
      this.#leave(job);
      throw error;
    }
    job.isStored = true;
    if (job.ending) return;
    this.#queue.push(order.owner, job);
    this.#fill();
  }

  /** Ends a job that is held here. Resolves when its end is written down; the first end counts. */
  end(job: LiveJob, what: Ending): Promise<void> {
    const { clock } = this.#deps;
    job.ending ??= { what, at: clock.now(), ms: clock.monotonicMs() };
    job.abort.abort(new JobOver(job.jobId));
    return this.#writeDown(job);
  }

  /**
   * Keeps what is held here and what is written in step: gives up what is over
   * its time, writes down ends that the store could not take before, stops
   * what somebody else has ended, tells progress.
   */
  async pulse(): Promise<void> {
    const { store, clock, workerId } = this.#deps;
    const nowMs = clock.monotonicMs();
    this.#abandonDeaf(nowMs);
    this.#giveUpLate(nowMs);
    if (this.live.size === 0) return;
    const jobs = [...this.live.values()];
    await Promise.all(jobs.filter((job) => job.ending && !job.writing).map((job) => this.#writeDown(job)));
    const open = jobs.filter((job) => job.isStored && !job.ending);
    const pending = new Set(await pendingOf(store, workerId));
    for (const job of open) if (!pending.has(job.jobId)) this.#leave(job);
    await Promise.all(open.map((job) => this.#tellProgress(job, nowMs)));
  }

  /** Ends all jobs and gives their work a moment to wind down. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ends = [...this.live.values()].map((job) =>
      this.end(job, drained).catch((error: unknown) =>
        this.#deps.log.error({ error, job: job.jobId }, 'the end of a job could not be written down'),
      ),
    );
    const calm = new AbortController();
    const late = sleep(stopMsMax, undefined, { signal: calm.signal }).catch(() => undefined);
    await Promise.race([Promise.all([...ends, ...this.#places.values()]), late]);
    calm.abort();
  }

  #overdueAt({ queuedMsMax, runMsMax }: JobOrder, { createdAt }: JobRecord): Date {
    return new Date(createdAt.getTime() + queuedMsMax + runMsMax + runMarginMs + clockSkewMs);
  }

  #refuseWhenFull(owner: string): void {
    const { runningMax, queuedMax } = this.#deps;
    const waiting = [...this.live.values()].filter((job) => !job.started);
    const reserved = waiting.some((job) => job.order.owner === owner) ? Math.floor(queuedMax * reservedPart) : 0;
    const free = Math.max(0, runningMax - this.#places.size);
    if (waiting.length >= free + queuedMax - reserved)
      throw new ServiceError('no_capacity', 'Too many jobs are waiting on this worker. Try again in a moment.', { retryAfterSeconds });
  }

  #fill(): void {
    const held = (owner: string): number => [...this.#places.keys()].filter((job) => job.order.owner === owner).length;
    while (this.#places.size < this.#deps.runningMax && !this.#stopping) {
      const job = this.#queue.take(held);
      if (!job) return;
      job.started = { at: this.#deps.clock.now(), ms: this.#deps.clock.monotonicMs() };
      this.#places.set(job, this.#run(job));
    }
  }

  async #run(job: LiveJob): Promise<void> {
    await this.#tellStarted(job);
    const ending = job.abort.signal.aborted ? null : await this.#work(job);
    // What the store does not take now it is offered again by the next pulse.
    if (ending) await this.end(job, ending).catch(() => undefined);
    if (!job.over.signal.aborted) await once(job.over.signal, 'abort');
    this.#places.delete(job);
    this.#fill();
  }

  async #tellStarted(job: LiveJob): Promise<void> {
    const { store, clock, log } = this.#deps;
    try {
      if (!(await markStarted(store, job.jobId, job.started?.at ?? clock.now()))) this.#leave(job);
    } catch (error) {
      // It is told again with the end.
      log.warn({ error, job: job.jobId }, 'the start of a job could not be written down');
    }
  }

  /** What the work came to; null where nobody waits for that any more. */
  async #work(job: LiveJob): Promise<Ending | null> {
    const { log } = this.#deps;
    job.isBegun = true;
    job.isWorking = true;
    try {
      const outcome = await Promise.race([job.order.run(job.context()), job.abandoned.promise]);
      return outcome === 'abandoned' || job.ending ? null : endingOf(outcome);
    } catch (error) {
      if (job.abort.signal.aborted) return null;
      if (!(error instanceof ServiceError)) log.error({ error, job: job.jobId }, 'a job failed unexpectedly');
      return endingOfThrown(error);
    } finally {
      job.isWorking = false;
    }
  }

  #writeDown(job: LiveJob): Promise<void> {
    job.writing ??= this.#write(job).catch((error: unknown) => {
      job.writing = null;
      this.#onUnwritten(job, error);
      throw error;
    });
    return job.writing;
  }

  /** An end that the store never takes would never come: in the long run a lesser one is offered. */
  #onUnwritten(job: LiveJob, error: unknown): void {
    const { clock, log } = this.#deps;
    if (!job.ending || (error instanceof ServiceError && clock.monotonicMs() - job.ending.ms < unwrittenMsMax)) return;
    log.error({ error, job: job.jobId }, 'the result of a job could not be written down and is dropped');
    job.ending.what = endingOfThrown(error);
  }

  async #write(job: LiveJob): Promise<void> {
    await job.stored;
    const { ending, started, progress, jobId } = job;
    if (ending?.what) {
      const ran = { startedAt: started?.at ?? null, progress };
      await finishJob(this.#deps.store, jobId, { ...ending.what, finishedAt: ending.at, expiresAt: expiryOf(ending.at), ran });
    }
    this.#leave(job);
  }

  /** The job is over in the store, or never was there: nothing is left to do for it here. */
  #leave(job: LiveJob): void {
    const { clock } = this.#deps;
    this.live.delete(job.jobId);
    this.#queue.remove(job.order.owner, job);
    job.ending ??= { what: null, at: clock.now(), ms: clock.monotonicMs() };
    job.abort.abort(new JobOver(job.jobId));
    if (!job.isBegun && !job.over.signal.aborted) job.order.neverRan?.();
    job.over.abort();
  }

  #giveUpLate(nowMs: number): void {
    for (const job of this.live.values()) {
      const { started, admittedMs, order, ending } = job;
      if (ending) continue;
      const isLate = started ? nowMs - started.ms > order.runMsMax + runMarginMs : nowMs - admittedMs > order.queuedMsMax;
      if (isLate) void this.end(job, started ? outlived : neverStarted).catch(() => undefined);
    }
  }

  /** Work that does not hear that it is over must not keep its place for ever. */
  #abandonDeaf(nowMs: number): void {
    for (const job of this.#places.keys()) {
      if (!job.isWorking || !job.ending || nowMs - job.ending.ms <= windDownMsMax) continue;
      job.abandoned.resolve('abandoned');
      this.#deps.log.error({ job: job.jobId }, 'a job is over and its work goes on: its place is given away');
    }
  }

  async #tellProgress(job: LiveJob, nowMs: number): Promise<void> {
    const progress = job.ending ? null : job.takeProgress(nowMs);
    if (progress) await writeProgress(this.#deps.store, job.jobId, progress);
  }
}
