/** Work that goes on after its request was answered, and is asked after by its id. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp, queryInt } from './fields.ts';

export const jobStatuses = ['pending', 'ok', 'blocked', 'error'] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** What went wrong in work that was answered with 200: the status of an error travels in the body there. */
export const WorkError = z
  .object({ code: z.string(), message: z.string(), retryable: z.boolean(), details: z.record(z.string(), z.unknown()).optional() })
  .meta({ id: 'WorkError' });
export type WorkError = z.infer<typeof WorkError>;

export const WorkUsage = z
  .object({
    actions: z.int(),
    egress_bytes: z
      .int()
      .meta({ description: 'As the page’s own requests count. What is charged is the gate’s count, which may differ by some bytes.' }),
    captcha_solves: z.int(),
    credits: z.number().meta({ description: 'What all of it costs.' }),
  })
  .meta({ id: 'WorkUsage' });
export type WorkUsage = z.infer<typeof WorkUsage>;

export const Job = z
  .object({
    job_id: z.string(),
    session_id: z.string().nullable(),
    kind: z.enum(['fetch']),
    status: z.enum(jobStatuses),
    stage: z.enum(['queued', 'running', 'done']),
    progress: z.object({ step: z.int(), total: z.int().nullable(), note: z.string() }),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    expires_at: Timestamp.nullable().meta({ description: 'When the result is dropped; null while the job runs.' }),
    result: z.record(z.string(), z.unknown()).nullable().meta({ description: 'What the work came to: for a fetch its FetchResponse.' }),
    error: WorkError.nullable(),
    usage: WorkUsage.nullable(),
  })
  .meta({ id: 'Job' });
export type JobResponse = z.infer<typeof Job>;

/** A job's own id cannot be longer; what is, is unknown. */
const jobParams = z.object({ job_id: PathId });

/** How long a poll may wait for the end of a job. */
export const waitSecondsMax = 25;
export const waitQuery = z.strictObject({
  wait_seconds: queryInt(0, waitSecondsMax).default(0).meta({ description: 'Answers as soon as the job is done, or after this long.' }),
});
export const pollDeadlineMs = (waitSecondsMax + 10) * 1000;

export const getJob = endpoint({
  id: 'getJob',
  method: 'GET',
  path: '/v1/job/{job_id}',
  tag: 'Jobs',
  summary: 'How a job is doing, and what it came to',
  auth: 'bearer',
  params: jobParams,
  query: waitQuery,
  reply: Job,
  status: 200,
  errors: ['job_not_found', 'job_expired', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: pollDeadlineMs,
});

export const cancelJob = endpoint({
  id: 'cancelJob',
  method: 'DELETE',
  path: '/v1/job/{job_id}',
  tag: 'Jobs',
  summary: 'Give a job up',
  description:
    'A job that still runs ends as `error` with the code `cancelled`. One that is done stays as it is, so calling twice does no harm.',
  auth: 'bearer',
  params: jobParams,
  reply: Job,
  status: 200,
  errors: ['job_not_found', 'job_expired', 'store_unavailable'],
});
