/**
 * A job's states and its record.
 *
 *   pending ──► ok | blocked | error
 *
 * One UPDATE of a pending row ends a job. A later result, cancel or recovery
 * changes nothing.
 */
import { randomUUID } from 'node:crypto';
import type { JobResponse, JobStatus, WorkError, WorkUsage } from '@berth/contract';
import { isId } from '../lib/ids.ts';

export type JobKind = JobResponse['kind'];

export interface JobProgress {
  step: number;
  /** null when unknown. */
  total: number | null;
  note: string;
}

/** The progress of new jobs and of jobs whose result was dropped. */
export const noProgress: JobProgress = { step: 0, total: null, note: '' };

/** `result`, `error` and `usage` are null until the job ends; `error` and `result` may both be set. */
export interface JobRecord {
  jobId: string;
  owner: string;
  sessionId: string;
  workerId: string;
  kind: JobKind;
  status: JobStatus;
  /** The request fields that responses repeat. */
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
