/** Starts work as a job, which goes on without the page that started it. */
import { call, type Request } from '../../../api.ts';

type Starter = 'fetchPage' | 'inspect' | 'runAgent' | 'runTemplate';

/** Returns the id of the job. @throws ApiError */
export async function startJob(operation: Starter, body: Record<string, unknown>): Promise<string> {
  const request: Request<Starter> = { body: { ...body, async: true } };
  const { job_id: jobId } = await call(operation, request);
  if (jobId === null) throw new Error('The service started no job.');
  return jobId;
}
