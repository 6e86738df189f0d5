/** What a kind of work says of itself. All else is the engine's. */
import type { WorkUsage } from '@berth/contract';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { JobKind, JobOutcome } from '../jobs/jobs.ts';
import type { WorkNeeds, WorkRun } from './work-run.ts';

/** A checked request. */
export interface WorkSpec<Request> {
  request: Request;
}

export interface WorkOutcome {
  status: JobOutcome['status'];
  usage: WorkUsage;
}

/** How work has ended, for the metrics. */
export type WorkEnd = JobOutcome['status'] | 'cancelled';

/** Work that has begun. */
export interface StartedWork<Outcome> {
  /** `signal` aborts with the caller, the job, or the request's time. */
  run(signal: AbortSignal): Promise<Outcome>;
  /** Returns the outcome of a failure. @throws the error itself when it is not for the response: a bad request or a bug */
  fail(error: unknown, isLate: boolean): Outcome;
  /** Actions that are charged although the work throws. Absent: none. */
  readonly spentActions?: number;
  /** Called once, after the charge. */
  ended?(end: WorkEnd): void | Promise<void>;
}

/** The request's part in a response. */
export interface Frame {
  /** null for work that is no job. */
  jobId: string | null;
  subject: Record<string, unknown>;
  createdAt: Date;
  finishedAt: Date;
}

export interface WorkKind<Request, Spec extends WorkSpec<Request>, Outcome extends WorkOutcome, Reply> {
  jobKinds: readonly JobKind[];
  /** @throws ValidationError, ServiceError */
  check(principal: Principal, request: Request): Promise<Spec>;
  needs(spec: Spec): WorkNeeds;
  /** Takes what this worker has little of until the work has ended; returns what gives it back. @throws ServiceError no_capacity */
  hold?(spec: Spec): () => void;
  begin(spec: Spec, run: WorkRun): StartedWork<Outcome>;
  reply(frame: Frame, spec: Spec, outcome: Outcome): Reply | Promise<Reply>;
}
