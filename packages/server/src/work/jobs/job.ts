/**
 * A job's states and its record.
 *
 *   pending ──► ok | blocked | error
 *
 * One UPDATE of a pending row ends a job. A later result, cancel or recovery
 * changes nothing. Meanwhile one UPDATE gives it to another worker, if it was
 * not started or has touched nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { JobResponse, JobStatus, WorkError, WorkUsage } from '@berth/contract';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import { traced } from '@berth/lib/tracing.ts';
import type { JobOutcome, StoredOutcome } from './outcome.ts';

export type JobKind = JobResponse['kind'];

export interface JobProgress {
  step: number;
  /** null when unknown. */
  total: number | null;
  note: string;
}

/** The progress of new jobs and of jobs whose result was dropped. */
export const noProgress: JobProgress = { step: 0, total: null, note: '' };

/**
 * Whether the first part of a job's id is a session: `known` when the job is submitted, its `own` once it runs, or
 * never (`none`), where it only makes the id.
 */
export type JobSession = 'known' | 'own' | 'none';

/** `result`, `error` and `usage` are null until the job ends; `error` and `result` may both be set. */
export interface JobRecord {
  jobId: string;
  owner: string;
  sessionId: string;
  workerId: string;
  kind: JobKind;
  status: JobStatus;
  /** The request fields that responses repeat, and `job_session`. */
  subject: Record<string, unknown>;
  progress: JobProgress;
  createdAt: Date;
  /** null while queued, and for a job that never started. */
  startedAt: Date | null;
  finishedAt: Date | null;
  /** When the result expires. */
  expiresAt: Date | null;
  result: Record<string, unknown> | null;
  error: WorkError | null;
  usage: WorkUsage | null;
}

export const newJobId = (sessionId: string): string => `${sessionId}.${randomUUID()}`;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the form of a job id. The store is not queried for any other. */
export function isJobId(text: string): boolean {
  const dot = text.indexOf('.');
  return isId('ses', text.slice(0, dot)) && uuid.test(text.slice(dot + 1));
}

export function stageOf({ status, startedAt }: Pick<JobRecord, 'status' | 'startedAt'>): JobResponse['stage'] {
  if (status !== 'pending') return 'done';
  return startedAt ? 'running' : 'queued';
}

/** The session that has done the work, or does it; null while and where there is none. */
export function sessionIdOf({
  result,
  subject,
  sessionId,
  startedAt,
}: Pick<JobRecord, 'result' | 'subject' | 'sessionId' | 'startedAt'>): string | null {
  const { session_id: used } = result ?? {};
  if (used !== undefined) return typeof used === 'string' ? used : null;
  const { job_session: session = 'none' } = subject;
  return session === 'known' || (session === 'own' && startedAt !== null) ? sessionId : null;
}

/** All that another worker needs to run a job. */
export interface JobDescription {
  principal: Principal;
  /** The validated request. */
  body: object;
  /** Id of the admission: its hold passes to the worker that runs the job. */
  opId: string;
}

/** The work of a job. */
export interface JobWork {
  /** The work's own time limit. The job is ended from outside shortly after. */
  runMsMax: number;
  /** A ServiceError that it throws becomes the job's error. */
  run(context: JobContext): Promise<JobOutcome>;
}

/** Makes the work of a job that another worker accepted. */
export type DescribedWork = (description: JobDescription, record: JobRecord) => JobWork;

export interface JobRequest extends JobWork {
  owner: string;
  kind: JobKind;
  /** The first part of the job's id. */
  sessionId: string;
  /** Absent: `none`. */
  session?: JobSession;
  /** The request fields that responses repeat. No secrets. */
  subject: Record<string, unknown>;
  /** How long the job may wait in the queue. */
  queuedMsMax: number;
  /** Absent: only this worker can run the job, as one in a session that it runs. */
  description?: JobDescription | undefined;
  /** Whether the caller waits for the end: it is run before the owner's other jobs. */
  isAwaited?: boolean;
  /** Called once when the job ends, or is left to another worker, without its work having started. */
  onNeverStarted?(): void;
}

/** The job as its work sees it. */
export interface JobContext {
  jobId: string;
  /** When it was submitted. */
  createdAt: Date;
  /** Aborted when the job ends for another reason: a cancel, its deadline, the worker's stop. */
  signal: AbortSignal;
  /** Reports progress. Stored at most once a second. */
  progress(step: number, total: number | null, note: string): void;
  /**
   * Called before the work changes a page, and before it is charged: from then on no other worker runs the job.
   * @throws JobEndedError when another worker has it, or this one in a later run; store_unavailable
   */
  touch(): Promise<void>;
}

/** The reason of `JobContext.signal`. */
export class JobEndedError extends Error {
  constructor(jobId: string) {
    super(`the job ${jobId} has ended`);
    this.name = 'JobEndedError';
  }
}

const noteCharsMax = 200;
const progressEveryMs = 1000;

/** A job of this worker, from its admission until its end is stored. */
export class LiveJob {
  readonly jobId: string;
  readonly createdAt: Date;
  readonly request: JobRequest;
  /** The work, in the context of the request that submitted it. */
  readonly run: () => Promise<JobOutcome>;
  readonly admittedMs: number;
  /** Aborted as soon as `ending` is set. */
  readonly abort = new AbortController();
  /** Aborted when the end is stored. */
  readonly ended = new AbortController();
  /** Resolved when the work ignores its signal long after the job ended. */
  readonly abandoned = Promise.withResolvers<'abandoned'>();
  /** Resolves when the insert succeeded or failed. Never rejects. */
  stored: Promise<void> = Promise.resolve();
  /** Its row: not stored yet, for this worker alone, or with a description, so that another can run it. */
  row: 'none' | 'bound' | 'movable' = 'none';
  /** Whether other workers may start it: once that is being written, the store decides who does. */
  offer: 'none' | 'unconfirmed' | 'stored' = 'none';
  /** Which run of the job this is; null where this worker accepted it, so that it is the first. */
  attempt: number | null = null;
  started: { at: Date; ms: number } | null = null;
  /** Its work, which may go on after the job's end. */
  work: 'none' | 'running' | 'over' = 'none';
  /** The first ending counts; a later result is dropped. `outcome` is null when there is nothing to write. */
  ending: { outcome: StoredOutcome | null; at: Date; ms: number } | null = null;
  /** The write of `ending` in progress, shared by all callers. */
  writing: Promise<void> | null = null;
  progress: JobProgress = noProgress;
  touch: () => Promise<void> = () => Promise.resolve();
  #written: { progress: JobProgress; ms: number };

  constructor({ jobId, createdAt }: Pick<JobRecord, 'jobId' | 'createdAt'>, request: JobRequest, clock: Clock) {
    this.jobId = jobId;
    this.createdAt = createdAt;
    this.request = request;
    this.admittedMs = clock.monotonicMs();
    const { kind } = request;
    // A slot that becomes free belongs to another request.
    this.run = AsyncLocalStorage.bind(() =>
      traced('job', { 'berth.job_id': jobId, 'berth.job.kind': kind }, () => request.run(this.context())),
    );
    this.#written = { progress: this.progress, ms: this.admittedMs };
  }

  context(): JobContext {
    const progress = (step: number, total: number | null, note: string): void => {
      this.progress = { step, total, note: note.slice(0, noteCharsMax) };
    };
    return { jobId: this.jobId, createdAt: this.createdAt, signal: this.abort.signal, progress, touch: () => this.touch() };
  }

  /** Progress that is due to be stored, or null. Counts as stored afterwards. */
  takeUnwrittenProgress(nowMs: number): JobProgress | null {
    if (this.progress === this.#written.progress || nowMs - this.#written.ms < progressEveryMs) return null;
    this.#written = { progress: this.progress, ms: nowMs };
    return this.progress;
  }
}
