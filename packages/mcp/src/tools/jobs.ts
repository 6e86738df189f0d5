/** Work that may take longer than a client waits for a reply: it runs as a job, and a later call asks for its result. */
import type { JobResponse } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import type { ToolContext } from '../tool.ts';

/** Clients give up after a minute unless they were told otherwise. */
const waitSecondsMax = 50;
const waitSecondsDefault = 40;
/** What the service waits for at most before it answers. */
const pollSecondsMax = 25;

export const jobArgs = {
  job: z.string().max(200).optional().describe('id, to ask again'),
  wait: z.int().min(0).max(waitSecondsMax).optional(),
};

export interface JobWait {
  job: string | undefined;
  wait: number | undefined;
  start(): Promise<{ job_id: string | null }>;
}

export async function startOrWait(
  { berth, options }: ToolContext,
  { job, wait = waitSecondsDefault, start }: JobWait,
): Promise<JobResponse> {
  const id = job ?? (await start()).job_id ?? '';
  let left = wait;
  for (;;) {
    const seconds = Math.min(left, pollSecondsMax);
    left -= seconds;
    const polled = await berth.jobs.get(id, { wait_seconds: seconds }, options);
    if (polled.status !== 'pending' || left <= 0) return polled;
  }
}

export function jobAnswer(job: JobResponse, describe: (result: Record<string, unknown>) => Answer): Answer {
  if (job.status === 'pending')
    return { head: [`job ${job.job_id} is ${job.stage} (${inLine(job.progress.note, 100)}): call again with it`] };
  if (job.result === null)
    return { head: [`${job.error?.code ?? 'failed'}: ${inLine(job.error?.message ?? 'The job has no result.', 500)}`], isError: true };
  return describe(job.result);
}
