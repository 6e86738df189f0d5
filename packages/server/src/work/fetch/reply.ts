import type { FetchRequest, FetchResponse, WorkError } from '@berth/contract';
import { sessionIdOf, type JobRecord } from '../jobs/jobs.ts';
import type { FetchError } from './errors.ts';
import { createPageResult, type PageResult } from './result.ts';
import type { FetchRunResult } from './run.ts';

/** The part of the request that the response repeats. */
export type FetchSubject = Pick<FetchRequest, 'url' | 'metadata'>;

export const pollPath = (jobId: string): string => `/v1/fetch/job/${jobId}`;

interface Frame {
  /** null for a fetch that is no job. */
  jobId: string | null;
  sessionId: string | null;
  subject: FetchSubject;
  createdAt: Date;
  finishedAt: Date | null;
}

export function toFetchResult(frame: Frame, outcome: FetchRunResult): FetchResponse {
  const { status, page, error, sessionId, attempts, resolvedBy, bytes, usage } = outcome;
  const { queueMs, sessionMs, totalMs } = outcome.timings;
  const fields = toPageFields(page);
  return {
    ...toFrameFields(frame),
    ...fields,
    status,
    session_id: sessionId,
    attempts,
    resolved_by: resolvedBy,
    timings: { ...fields.timings, queue_ms: queueMs, session_ms: sessionMs, total_ms: totalMs },
    bytes,
    usage,
    error: error && toWorkError(error),
  };
}

/** The response of a job without a result: running, cancelled, or lost with its worker. */
export function toUnfinished(record: JobRecord): FetchResponse {
  const subject = record.subject as FetchSubject;
  const { jobId, createdAt, finishedAt, status, error } = record;
  const sessionId = sessionIdOf(record);
  return {
    ...toFrameFields({ jobId, sessionId, subject, createdAt, finishedAt }),
    ...toPageFields(createPageResult(subject.url)),
    status,
    session_id: sessionId,
    final_url: null,
    attempts: [],
    resolved_by: null,
    bytes: { in: 0, out: 0 },
    usage: { ...noUsage, ...record.usage },
    error,
  };
}

/** A result that an earlier release stored lacks the fields that came since: `usage.credits`, `snapshot`. */
export const toFinished = (result: FetchResponse): FetchResponse => ({
  ...result,
  snapshot: result.snapshot ?? null,
  usage: { ...noUsage, ...result.usage },
});

const noUsage: FetchResponse['usage'] = { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 };

const toFrameFields = ({ jobId, subject, createdAt, finishedAt }: Frame) => ({
  job_id: jobId,
  poll_url: null as string | null,
  url: subject.url,
  metadata: subject.metadata,
  created_at: createdAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
});

function toPageFields({ finalUrl, redirects, statusCode, headers, contentType, ttfbMs, loadMs, ...fields }: PageResult) {
  return {
    ...fields,
    final_url: finalUrl,
    redirects: redirects.map(({ url, statusCode: status }) => ({ url, status_code: status })),
    status_code: statusCode,
    headers: { ...headers },
    content_type: contentType,
    warnings: [...new Set(fields.warnings)],
    timings: { queue_ms: 0, session_ms: 0, ttfb_ms: ttfbMs === null ? null : Math.round(ttfbMs), load_ms: loadMs, total_ms: 0 },
  };
}

const toWorkError = ({ code, message, retryable, details }: FetchError): WorkError => ({
  code,
  message,
  retryable,
  ...(details ? { details } : {}),
});
