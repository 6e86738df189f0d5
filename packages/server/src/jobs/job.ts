/**
 * A job's states, and what is kept of it.
 *
 *   pending ──► ok | blocked | error
 *
 * `pending` is left once, by the one UPDATE that finds it so. Whoever comes
 * second, with a result, a cancel or a death certificate, changes nothing.
 */
import { randomUUID } from 'node:crypto';
import type { JobResponse, JobStatus, WorkError, WorkUsage } from '@berth/contract';
import { isId } from '../lib/ids.ts';

export type JobKind = JobResponse['kind'];

export interface JobProgress {
  step: number;
  /** null where it is not known how many there will be. */
  total: number | null;
  note: string;
}

/** Before there is any: what a job starts with, and what a dropped one is left with. */
export const noProgress: JobProgress = { step: 0, total: null, note: '' };

/** A job as it is told. `result`, `error` and `usage` are of one that is over; `error` and `result` may both be there. */
export interface JobRecord {
  jobId: string;
  owner: string;
  sessionId: string;
  workerId: string;
  kind: JobKind;
  status: JobStatus;
  /** What the work is about: what replies repeat of its order. */
  subject: Record<string, unknown>;
  progress: JobProgress;
  createdAt: Date;
  /** null while it waits for its turn, and where it never came. */
  startedAt: Date | null;
  finishedAt: Date | null;
  /** When the result is dropped. */
  expiresAt: Date | null;
  result: Record<string, unknown> | null;
  error: WorkError | null;
  usage: WorkUsage | null;
}

export const newJobId = (sessionId: string): string => `${sessionId}.${randomUUID()}`;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text can be a job's id at all. One that cannot is unknown, and never asked for in the store. */
export function isJobId(text: string): boolean {
  const dot = text.indexOf('.');
  return isId('ses', text.slice(0, dot)) && uuid.test(text.slice(dot + 1));
}

export function stageOf({ status, startedAt }: Pick<JobRecord, 'status' | 'startedAt'>): JobResponse['stage'] {
  if (status !== 'pending') return 'done';
  return startedAt ? 'running' : 'queued';
}
