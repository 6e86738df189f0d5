import { cancelJob, getJob, type JobResponse } from '@berth/contract';
import { ownerOf, type Routes } from '../http/call.ts';
import { stageOf, type JobRecord, type Jobs } from './jobs.ts';

export function mountJobs(routes: Routes, jobs: Jobs): void {
  routes.on(getJob, async ({ principal, params, query, signal }) =>
    toJob(await jobs.get(ownerOf(principal), params.job_id, { waitSeconds: query.wait_seconds, signal })),
  );
  routes.on(cancelJob, async ({ principal, params }) => toJob(await jobs.cancel(ownerOf(principal), params.job_id)));
}

/** Jobs older than credits have none in their usage. */
const noCredits = { credits: 0 };

const toJob = (record: JobRecord): JobResponse => ({
  job_id: record.jobId,
  session_id: record.sessionId,
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
