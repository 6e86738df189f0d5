import type { FetchRequest, FetchResponse, WorkError } from '@berth/contract';
import type { JobOutcome, JobRecord } from '../jobs/jobs.ts';
import { createPageResult, type FetchError, type PageResult } from './result.ts';
import type { FetchRunResult } from './run.ts';

/** The part of the request that the response repeats. */
export type FetchSubject = Pick<FetchRequest, 'url' | 'metadata'>;

export const pollPath = (jobId: string): string => `/v1/fetch/job/${jobId}`;

interface Frame {
  jobId: string;
  sessionId: string | null;
  subject: FetchSubject;
  createdAt: Date;
  finishedAt: Date | null;
}

export function toFetchResult(frame: Frame, outcome: FetchRunResult): FetchResponse {
  const { status, page: result, error, attempts, resolvedBy, bytes, usage, timings } = outcome;
  return {
    ...toFrameFields(frame),
    status,
    session_id: outcome.sessionId,
    ...toPageFields(result),
    attempts,
    resolved_by: resolvedBy,
    timings: {
      queue_ms: timings.queueMs,
      session_ms: timings.sessionMs,
      ttfb_ms: result.ttfbMs === null ? null : Math.round(result.ttfbMs),
      load_ms: result.loadMs,
      total_ms: timings.totalMs,
    },
    bytes,
    usage,
    error: error && toWorkError(error),
  };
}

/** The response of a job without a result: running, cancelled, or lost with its worker. */
export function toUnfinished(record: JobRecord): FetchResponse {
  const subject = record.subject as FetchSubject;
  const { jobId, sessionId, createdAt, finishedAt, status, error } = record;
  return {
    ...toFrameFields({ jobId, sessionId, subject, createdAt, finishedAt }),
    status,
    session_id: sessionId,
    ...toPageFields({ ...createPageResult(subject.url) }),
    final_url: null,
    attempts: [],
    resolved_by: null,
    timings: { queue_ms: 0, session_ms: 0, ttfb_ms: null, load_ms: null, total_ms: 0 },
    bytes: { in: 0, out: 0 },
    usage: { ...noUsage, ...record.usage },
    error,
  };
}

/** Results stored before credits existed have no `usage.credits`. */
export const toFinished = (result: FetchResponse): FetchResponse => ({ ...result, usage: { ...noUsage, ...result.usage } });

const noUsage: FetchResponse['usage'] = { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 };

export const toJobOutcome = (result: FetchResponse): JobOutcome => ({
  status: result.status === 'pending' ? 'error' : result.status,
  result,
  error: result.error,
  usage: result.usage,
});

const toFrameFields = ({ jobId, subject, createdAt, finishedAt }: Frame) => ({
  job_id: jobId,
  poll_url: null as string | null,
  url: subject.url,
  metadata: subject.metadata,
  created_at: createdAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
});

const toPageFields = (page: PageResult) => ({
  final_url: page.finalUrl,
  redirects: page.redirects.map(({ url, statusCode }) => ({ url, status_code: statusCode })),
  status_code: page.statusCode,
  headers: { ...page.headers },
  content_type: page.contentType,
  title: page.title,
  html: page.html,
  raw: page.raw,
  markdown: page.markdown,
  text: page.text,
  links: page.links,
  page: page.page,
  screenshot: page.screenshot,
  pdf: page.pdf,
  json: page.json,
  tables: page.tables,
  har: page.har,
  actions: page.actions,
  block: page.block,
  captcha: page.captcha,
  warnings: [...new Set(page.warnings)],
});

const toWorkError = ({ code, message, retryable, details }: FetchError): WorkError => ({
  code,
  message,
  retryable,
  ...(details ? { details } : {}),
});
