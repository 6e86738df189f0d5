import type { Clock } from '../lib/clock.ts';
import type { Ending, JobOutcome } from './ending.ts';
import { noProgress, type JobKind, type JobProgress } from './job.ts';

export interface JobOrder {
  owner: string;
  kind: JobKind;
  /** The first part of the job's id. */
  sessionId: string;
  /** What the work is about: what replies repeat of its order. No secret. */
  subject: Record<string, unknown>;
  /** How long it may wait for its turn. */
  queuedMsMax: number;
  /** How long the work takes at most by its own account. A little later it is given up from outside. */
  runMsMax: number;
  /** The work. It may throw; a ServiceError is told to the caller. */
  run(context: JobContext): Promise<JobOutcome>;
  /** Told once where the job is over and its work was never begun. */
  neverRan?(): void;
}

/** What work knows of the job that it is. */
export interface JobContext {
  jobId: string;
  /** Aborted when the job is over for whatever other reason: a cancel, its deadline, the worker's stop. */
  signal: AbortSignal;
  /** Tells how far the work is. Kept in memory, and written down at most once a second. */
  progress(step: number, total: number | null, note: string): void;
}

/** The reason of `JobContext.signal`. */
export class JobOver extends Error {
  constructor(jobId: string) {
    super(`the job ${jobId} is over`);
    this.name = 'JobOver';
  }
}

const noteCharsMax = 200;
/** How often progress is worth a write. */
const progressEveryMs = 1000;

/** A job that this worker holds, from its admission until its end is written down. */
export class LiveJob {
  readonly jobId: string;
  readonly order: JobOrder;
  readonly admittedMs: number;
  /** Aborted as soon as the job has an ending. */
  readonly abort = new AbortController();
  /** Aborted when its end is in the store: who waits for it looks there. */
  readonly over = new AbortController();
  /** Resolved where the work goes on long after the job is over. */
  readonly abandoned = Promise.withResolvers<'abandoned'>();
  /** Settles when it is known whether the row is there. Never rejects. */
  stored: Promise<void> = Promise.resolve();
  isStored = false;
  isBegun = false;
  started: { at: Date; ms: number } | null = null;
  isWorking = false;
  /** The first one counts, and what the work still comes to is dropped. Kept until the store has taken it; `what` is null where there is nothing to write. */
  ending: { what: Ending | null; at: Date; ms: number } | null = null;
  /** The write of `ending` under way, shared by all who ask for it. */
  writing: Promise<void> | null = null;
  progress: JobProgress = noProgress;
  #told: { progress: JobProgress; ms: number };

  constructor(jobId: string, order: JobOrder, clock: Clock) {
    this.jobId = jobId;
    this.order = order;
    this.admittedMs = clock.monotonicMs();
    this.#told = { progress: this.progress, ms: this.admittedMs };
  }

  context(): JobContext {
    const progress = (step: number, total: number | null, note: string): void => {
      this.progress = { step, total, note: note.slice(0, noteCharsMax) };
    };
    return { jobId: this.jobId, signal: this.abort.signal, progress };
  }

  /** Progress that the store should be told now, taken for told. */
  takeProgress(nowMs: number): JobProgress | null {
    if (this.progress === this.#told.progress || nowMs - this.#told.ms < progressEveryMs) return null;
    this.#told = { progress: this.progress, ms: nowMs };
    return this.progress;
  }
}
