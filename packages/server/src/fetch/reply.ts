import type { FetchRequest, FetchResponse, WorkError } from '@berth/contract';
import type { JobOutcome, JobRecord } from '../jobs/jobs.ts';
import { emptyFound, type FetchFault, type Found } from './found.ts';
import type { FetchOutcome } from './run.ts';

/** What a reply repeats of its order. */
export type FetchSubject = Pick<FetchRequest, 'url' | 'metadata'>;

export const pollPath = (jobId: string): string => `/v1/fetch/job/${jobId}`;

interface Frame {
  jobId: string;
  sessionId: string | null;
  subject: FetchSubject;
  createdAt: Date;
  finishedAt: Date | null;
}

export function toFetchResult(frame: Frame, outcome: FetchOutcome): FetchResponse {
  const { status, found, fault, attempts, resolvedBy, bytes, usage, timings } = outcome;
  return {
    ...frameOf(frame),
    status,
    session_id: outcome.sessionId,
    ...pageOf(found),
    attempts,
    resolved_by: resolvedBy,
    timings: {
      queue_ms: timings.queueMs,
      session_ms: timings.sessionMs,
      ttfb_ms: found.ttfbMs === null ? null : Math.round(found.ttfbMs),
      load_ms: found.loadMs,
      total_ms: timings.totalMs,
    },
    bytes,
    usage,
    error: fault && toWorkError(fault),
  };
}

/** Of a job that has not come to anything: still at work, cancelled, or lost with its worker. */
export function toUnfinished(record: JobRecord): FetchResponse {
  const subject = record.subject as FetchSubject;
  const { jobId, sessionId, createdAt, finishedAt, status, error } = record;
  return {
    ...frameOf({ jobId, sessionId, subject, createdAt, finishedAt }),
    status,
    session_id: sessionId,
    ...pageOf({ ...emptyFound(subject.url) }),
    final_url: null,
    attempts: [],
    resolved_by: null,
    timings: { queue_ms: 0, session_ms: 0, ttfb_ms: null, load_ms: null, total_ms: 0 },
    bytes: { in: 0, out: 0 },
    usage: { ...noUsage, ...record.usage },
    error,
  };
}

/** Results that were kept before there were credits say nothing of them. */
export const toFinished = (result: FetchResponse): FetchResponse => ({ ...result, usage: { ...noUsage, ...result.usage } });

const noUsage: FetchResponse['usage'] = { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 };

export const toJobOutcome = (result: FetchResponse): JobOutcome => ({
  status: result.status === 'pending' ? 'error' : result.status,
  result,
  error: result.error,
  usage: result.usage,
});

const frameOf = ({ jobId, subject, createdAt, finishedAt }: Frame) => ({
  job_id: jobId,
  poll_url: null as string | null,
  url: subject.url,
  metadata: subject.metadata,
  created_at: createdAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
});

const pageOf = (found: Found) => ({
  final_url: found.finalUrl,
  redirects: found.redirects.map(({ url, statusCode }) => ({ url, status_code: statusCode })),
  status_code: found.statusCode,
  headers: { ...found.headers },
  content_type: found.contentType,
  title: found.title,
  html: found.html,
  raw: found.raw,
  markdown: found.markdown,
  text: found.text,
  links: found.links,
  page: found.page,
  screenshot: found.screenshot,
  pdf: found.pdf,
  json: found.json,
  tables: found.tables,
  har: found.har,
  actions: found.actions,
  block: found.block,
  captcha: found.captcha,
  warnings: [...new Set(found.warnings)],
});

const toWorkError = ({ code, message, retryable, details }: FetchFault): WorkError => ({
  code,
  message,
  retryable,
  ...(details ? { details } : {}),
});
