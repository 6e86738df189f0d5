/** Endpoints of jobs: asynchronous work that is polled by its id. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { boundedList, boundedString } from '../bounds.ts';
import { PathId, Timestamp, pageHeaders, pageQuery, queryInt } from '../fields.ts';

export const jobStatuses = ['pending', 'ok', 'blocked', 'error'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const jobKinds = ['fetch', 'inspect', 'agent', 'template'] as const;

/** Error of work whose response status is 200, so that the body reports it. */
export const WorkError = z
  .object({
    code: z.string().describe('Error code.'),
    message: z.string().describe('What went wrong and what to do.'),
    retryable: z.boolean().describe('Whether the same request may succeed later.'),
    details: z.record(z.string(), z.unknown()).optional().describe('Further data about the error; its fields depend on the code.'),
  })
  .meta({ id: 'WorkError' });
export type WorkError = z.infer<typeof WorkError>;

export const WorkUsage = z
  .object({
    actions: z.int().describe('Number of actions.'),
    egress_bytes: z
      .int()
      .describe(
        'Network traffic of the page’s own requests in bytes. Charges are based on the traffic measured at the egress, ' +
          'which may differ by some bytes.',
      ),
    captcha_solves: z.int().describe('Number of captchas solved by a provider.'),
    credits: z.number().describe('Credits that this usage costs.'),
  })
  .meta({ id: 'WorkUsage' });
export type WorkUsage = z.infer<typeof WorkUsage>;

/** Reply headers of an endpoint whose work can be a job. */
export const asyncReplyHeaders = {
  Location: 'URL at which to poll the job. Sent with `async`.',
  'Retry-After': 'Seconds to wait before the first poll. Sent with `async`.',
};

/** Errors of an endpoint whose work takes a session or starts a browser of its own. */
export const workErrors = [
  'session_not_found',
  'session_not_ready',
  'session_ended',
  'session_busy',
  'profile_not_found',
  'profile_locked',
  'profile_limit_reached',
  'profile_unreadable',
  'concurrency_limit',
  'create_rate_limit',
  'premium_egress_required',
  'region_unavailable',
  'no_capacity',
  'draining',
  'store_unavailable',
  'deadline_exceeded',
] as const;

/** Maximum length of what a job works on: a line of a table, and most addresses whole. */
export const jobTargetCharsMax = 500;

/** A job in a list: without its result, which may have megabytes, and the details of its error. */
export const JobItem = z
  .object({
    job_id: z.string().describe('Id of the job.'),
    session_id: z
      .string()
      .nullable()
      .describe('Id of the session that runs the job, or ran it; null while there is none, and if none did.'),
    kind: z.enum(jobKinds).describe('Kind of job.'),
    status: z.enum(jobStatuses).describe('Status of the job: `pending` until it is done, then its result.'),
    stage: z.enum(['queued', 'running', 'done']).describe('Stage of the job.'),
    progress: z
      .object({
        step: z.int().describe('Number of steps completed.'),
        total: z.int().nullable().describe('Total number of steps; null if unknown.'),
        note: z.string().describe('Description of the current step.'),
      })
      .describe('Progress of the job.'),
    created_at: Timestamp.describe('When the job was created (RFC 3339, UTC).'),
    started_at: Timestamp.nullable().describe('When the job started to run (RFC 3339, UTC); null before that.'),
    finished_at: Timestamp.nullable().describe('When the job finished (RFC 3339, UTC); null before that.'),
    expires_at: Timestamp.nullable().describe(
      'When the result is deleted (RFC 3339, UTC), and with it `session_id`, `error` and `usage` in lists; null while the job is pending.',
    ),
    target: z
      .string()
      .nullable()
      .describe('Address of the page without credentials, query and fragment, or name of the flow or template; null for a HAR.'),
    error: WorkError.nullable().describe('Error of a job with `status: error`, in lists without `details`; null otherwise.'),
    usage: WorkUsage.nullable().describe('Resources that the job has used; null while it is pending.'),
  })
  .meta({ id: 'JobItemResponse' });
export type JobItemResponse = z.infer<typeof JobItem>;

export const Job = JobItem.extend({
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('Result of the job: a FetchResponse, InspectResponse, AgentResponse or TemplateResponse. null while the job is pending.'),
}).meta({ id: 'JobResponse' });
export type JobResponse = z.infer<typeof Job>;

const jobParams = z.object({ job_id: PathId.describe('Id of the job.') });

/** Maximum time for which a poll waits for the job to finish. */
export const waitSecondsMax = 25;
export const waitQuery = z.strictObject({
  wait_seconds: queryInt(0, waitSecondsMax)
    .default(0)
    .describe('Seconds to wait for the job to finish before responding, 0 to 25. Default: 0.'),
});
export const pollDeadlineMs = (waitSecondsMax + 10) * 1000;

export const getJob = endpoint({
  id: 'getJob',
  method: 'GET',
  path: '/v1/job/{job_id}',
  tag: 'Jobs',
  summary: 'Get a job',
  description:
    'Returns the status, progress and result of a job. With `wait_seconds` the response is sent as soon as the job ' +
    'finishes, or after that time. Results are retained for 24 hours.',
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
  summary: 'Cancel a job',
  description:
    'Cancels a pending job, which then has the status `error` with the code `cancelled`, and returns it. A ' +
    'finished job stays as it is, so the request can be repeated.',
  auth: 'bearer',
  params: jobParams,
  reply: Job,
  status: 200,
  errors: ['job_not_found', 'job_expired', 'store_unavailable'],
});

/** Parses `status=pending,error`. Unknown statuses are rejected. */
const StatusList = boundedString(0, 200)
  .transform((text) => text.split(','))
  .pipe(boundedList(z.enum(jobStatuses), 20).min(1));

/** The last second of the year 9999, the latest that the database reads. */
const unixSeconds = queryInt(0, 253_402_300_799);

export const listJobs = endpoint({
  id: 'listJobs',
  method: 'GET',
  path: '/v1/jobs',
  tag: 'Jobs',
  summary: 'List jobs',
  description: 'Returns your jobs without their results, newest first: pending ones, and those that ended in the last 31 days.',
  auth: 'bearer',
  query: z.strictObject({
    kind: z.enum(jobKinds).optional().describe('Only jobs of this kind. Default: all.'),
    status: StatusList.optional().meta({
      type: 'string',
      examples: ['pending,error'],
      description: 'Comma-separated list of statuses to include, such as `pending,error`. Default: all.',
    }),
    since: unixSeconds.optional().describe('Only jobs created from this time on, in Unix seconds.'),
    until: unixSeconds.optional().describe('Only jobs created before this time, in Unix seconds.'),
    ...pageQuery,
  }),
  reply: z.array(JobItem),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});
