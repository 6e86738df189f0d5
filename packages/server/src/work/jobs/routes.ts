import { cancelJob, getJob, jobTargetCharsMax, listJobs, type JobItemResponse, type JobResponse } from '@berth/contract';
import { z } from 'zod';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import type { Call, Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { isJobId, sessionIdOf, stageOf, type JobFilter, type JobKind, type JobRecord, type Jobs, type ListedJob } from './jobs.ts';

type Result = Record<string, unknown>;

/** Adds to a result, by kind of job, what is a credential of its reader and therefore not stored, such as a link. */
export type ResultLinks = Partial<Record<JobKind, (result: Result, reader: Pick<Call, 'principal' | 'origin'>) => Promise<Result>>>;

export function mountJobs(routes: Routes, jobs: Jobs, links: ResultLinks): void {
  const reply = async (record: JobRecord, reader: Pick<Call, 'principal' | 'origin'>): Promise<JobResponse> => {
    const { kind, result } = record;
    return toJob({ ...record, result: (result && (await links[kind]?.(result, reader))) ?? result });
  };
  routes.on(getJob, async (call) => {
    const { principal, params, query, signal } = call;
    return reply(await jobs.get(ownerOf(principal), params.job_id, { waitSeconds: query.wait_seconds, signal }), call);
  });
  routes.on(cancelJob, async (call) => reply(await jobs.cancel(ownerOf(call.principal), call.params.job_id), call));
  routes.on(listJobs, async (call) => {
    const { kind, status: statuses, since, until, cursor, limit } = call.query;
    const range = { since: toDate(since), until: toDate(until) };
    const filter = { owner: ownerOf(call.principal), kind, statuses, ...range, after: toPosition(cursor) };
    const listed = await jobs.list({ ...filter, limit: limit + 1 });
    return pageHeaders(call, listed, limit, ({ createdAt, jobId }) => [createdAt.getTime(), jobId]).map(toItem);
  });
}

const toDate = (seconds: number | undefined): Date | undefined => (seconds === undefined ? undefined : new Date(seconds * 1000));

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().refine(isJobId)]);

/** @throws ValidationError for an invalid cursor */
function toPosition(cursor: string | undefined): JobFilter['after'] {
  if (cursor === undefined) return undefined;
  const [createdMs, jobId] = decodeCursor(cursor, Position);
  return { createdAt: new Date(createdMs), jobId };
}

/** Jobs older than credits have none in their usage. */
const noCredits = { credits: 0 };

const toJob = (record: JobRecord): JobResponse => ({
  ...toFields(record),
  session_id: sessionIdOf(record),
  result: record.result,
  error: record.error,
});

const toItem = ({ outline, isDropped, ...record }: ListedJob): JobItemResponse => ({
  ...toFields(record),
  // A session is forgotten before the jobs that it ran.
  session_id: isDropped ? null : sessionIdOf({ ...record, result: outline && { session_id: outline.session_id } }),
  error: outline?.error ?? null,
});

const toFields = (record: JobRecord) => ({
  job_id: record.jobId,
  kind: record.kind,
  status: record.status,
  stage: stageOf(record),
  progress: record.progress,
  created_at: record.createdAt.toISOString(),
  started_at: record.startedAt?.toISOString() ?? null,
  finished_at: record.finishedAt?.toISOString() ?? null,
  expires_at: record.expiresAt?.toISOString() ?? null,
  target: targetOf(record.subject),
  usage: record.usage && { ...noCredits, ...record.usage },
});

/** What a job works on. Credentials, query and fragment of an address may be secrets, and are of no use in a list. */
function targetOf({ url, name }: JobRecord['subject']): string | null {
  const page = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (page) return `${page.protocol}//${page.host}${page.pathname}`.slice(0, jobTargetCharsMax);
  return typeof name === 'string' ? name.slice(0, jobTargetCharsMax) : null;
}
