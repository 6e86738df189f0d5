import { cancelJob, getJob, type JobResponse } from '@berth/contract';
import type { Call, Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { sessionIdOf, stageOf, type JobKind, type JobRecord, type Jobs } from './jobs.ts';

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
}

/** Jobs older than credits have none in their usage. */
const noCredits = { credits: 0 };

const toJob = (record: JobRecord): JobResponse => ({
  job_id: record.jobId,
  session_id: sessionIdOf(record),
  kind: record.kind,
  status: record.status,
  stage: stageOf(record),
  progress: record.progress,
  created_at: record.createdAt.toISOString(),
  started_at: record.startedAt?.toISOString() ?? null,
  finished_at: record.finishedAt?.toISOString() ?? null,
  expires_at: record.expiresAt?.toISOString() ?? null,
  result: record.result,
  error: record.error,
  usage: record.usage && { ...noCredits, ...record.usage },
});
