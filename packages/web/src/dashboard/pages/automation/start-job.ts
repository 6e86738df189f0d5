/** Starts work as a job, which goes on without the page that started it. */
import { call, type Request } from '../../api.ts';
import { startedJobs } from './jobs-of-tab.ts';
import type { StartedJob } from './started-jobs.ts';

type Starter = 'fetchPage' | 'inspect' | 'runAgent' | 'runTemplate';

const kinds: Readonly<Record<Starter, StartedJob['kind']>> = {
  fetchPage: 'fetch',
  inspect: 'inspect',
  runAgent: 'agent',
  runTemplate: 'template',
};

/** Returns the id of the job. @throws ApiError */
export async function startJob(operation: Starter, title: string, body: Record<string, unknown>): Promise<string> {
  const request: Request<Starter> = { body: { ...body, async: true } };
  const { job_id: jobId } = await call(operation, request);
  if (jobId === null) throw new Error('The service started no job.');
  startedJobs.add({ jobId, kind: kinds[operation], title, startedAtMs: Date.now(), status: 'pending', hasSession: hasSession(body) });
  return jobId;
}

/** Other work runs in machines that are nobody's session. */
const hasSession = (body: Record<string, unknown>): boolean => typeof body['session_id'] === 'string' || body['keep_session'] === true;
