/** Waits for jobs. */
import type { Call, RequestOptions } from './call.ts';
import type { JobResponse } from './generated/types.ts';

export interface JobWaitOptions extends RequestOptions {
  /** Called with the job when its stage or progress has changed, and at its end. */
  onProgress?: ((job: JobResponse) => void) | undefined;
}

/** A job, a reply of a call with `async`, or the id. */
export type JobReference = string | { job_id: string | null };

type GetJob = (id: string, params: { wait_seconds: number }, options: RequestOptions) => Call<JobResponse>;

/** The service holds a poll for at most this long. */
const waitSeconds = 25;

/** Polls until the job has ended, which every job does, and returns it: `status` says how. */
export async function waitForJob(get: GetJob, job: JobReference, { onProgress, ...options }: JobWaitOptions): Promise<JobResponse> {
  const id = typeof job === 'string' ? job : job.job_id;
  if (!id) throw new TypeError('This is no job: call with `async: true`.');
  let seen = '';
  for (;;) {
    const current = await get(id, { wait_seconds: waitSeconds }, options);
    const state = JSON.stringify([current.status, current.stage, current.progress]);
    if (state !== seen) onProgress?.(current);
    seen = state;
    if (current.status !== 'pending') return current;
  }
}
