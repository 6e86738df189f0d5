import type { Clock } from '../lib/clock.ts';
import type { StoredOutcome, JobOutcome } from './outcome.ts';
import { noProgress, type JobKind, type JobProgress } from './job.ts';

export interface JobRequest {
  owner: string;
  kind: JobKind;
  /** The first part of the job's id. */
  sessionId: string;
  /** The request fields that responses repeat. No secrets. */
  subject: Record<string, unknown>;
  /** How long the job may wait in the queue. */
  queuedMsMax: number;
  /** The work's own time limit. The job is ended from outside shortly after. */
  runMsMax: number;
  /** The work. A ServiceError that it throws becomes the job's error. */
  run(context: JobContext): Promise<JobOutcome>;
  /** Called once when the job ends without its work having started. */
  onNeverStarted?(): void;
}

/** The job as its work sees it. */
export interface JobContext {
  jobId: string;
  /** Aborted when the job ends for another reason: a cancel, its deadline, the worker's stop. */
  signal: AbortSignal;
  /** Reports progress. Stored at most once a second. */
  progress(step: number, total: number | null, note: string): void;
}

/** The reason of `JobContext.signal`. */
export class JobEnded extends Error {
  constructor(jobId: string) {
    super(`the job ${jobId} has ended`);
    this.name = 'JobEnded';
  }
}

const noteCharsMax = 200;
const progressEveryMs = 1000;

/** A job of this worker, from its admission until its end is stored. */
export class LiveJob {
  readonly jobId: string;
  readonly request: JobRequest;
  readonly admittedMs: number;
  /** Aborted as soon as `ending` is set. */
  readonly abort = new AbortController();
  /** Aborted when the end is stored. */
  readonly ended = new AbortController();
  /** Resolved when the work ignores its signal long after the job ended. */
  readonly abandoned = Promise.withResolvers<'abandoned'>();
  /** Resolves when the insert succeeded or failed. Never rejects. */
  stored: Promise<void> = Promise.resolve();
  isStored = false;
  hasStarted = false;
  started: { at: Date; ms: number } | null = null;
  isWorking = false;
  /** The first ending counts; a later result is dropped. `outcome` is null when there is nothing to write. */
  ending: { outcome: StoredOutcome | null; at: Date; ms: number } | null = null;
  /** The write of `ending` in progress, shared by all callers. */
  writing: Promise<void> | null = null;
  progress: JobProgress = noProgress;
  #written: { progress: JobProgress; ms: number };

  constructor(jobId: string, request: JobRequest, clock: Clock) {
    this.jobId = jobId;
    this.request = request;
    this.admittedMs = clock.monotonicMs();
    this.#written = { progress: this.progress, ms: this.admittedMs };
  }

  context(): JobContext {
    const progress = (step: number, total: number | null, note: string): void => {
      this.progress = { step, total, note: note.slice(0, noteCharsMax) };
    };
    return { jobId: this.jobId, signal: this.abort.signal, progress };
  }

  /** Progress that is due to be stored, or null. Counts as stored afterwards. */
  takeUnwrittenProgress(nowMs: number): JobProgress | null {
    if (this.progress === this.#written.progress || nowMs - this.#written.ms < progressEveryMs) return null;
    this.#written = { progress: this.progress, ms: nowMs };
    return this.progress;
  }
}
