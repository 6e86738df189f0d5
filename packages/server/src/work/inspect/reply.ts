import type { InspectArtifact, InspectRequest, InspectResponse } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { sessionIdOf, type JobRecord } from '../jobs/jobs.ts';
import type { InspectOutcome } from './run.ts';
import { redactText } from '@berth/lib/secrets/redact/redact.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';

/** The part of the request that the response repeats. */
export interface InspectSubject extends Record<string, unknown> {
  inspect_id: string;
  metadata: InspectRequest['metadata'];
  /** The address without what may be secret in it, for lists; absent for a HAR. */
  url?: string;
}

export function newSubject({ url, metadata }: Pick<InspectRequest, 'url' | 'metadata'>): InspectSubject {
  const { origin = null, pathname = '' } = url === null ? {} : new URL(url);
  return { inspect_id: newId('ins'), metadata, ...(origin === null ? {} : { url: `${origin}${pathname}` }) };
}

export const pollPath = (jobId: string): string => `/v1/job/${jobId}`;
export const reportPath = (jobId: string): string => `/v1/inspect/${jobId}/report.html`;
export const artifactPath = (jobId: string, name: InspectArtifact): string => `/v1/inspect/${jobId}/artifacts/${name}`;

const nothing = {
  report_version: 1 as const,
  url: null,
  final_url: null,
  duration_ms: 0,
  pages: [],
  limits: { truncated: false, dropped_requests: 0, dropped_bytes: 0, reason: null },
  redactions: { headers: 0, body_keys: 0, body_values: 0 },
  warnings: [],
  poll_url: null,
  report_url: null,
  artifacts: null,
  block: null,
  actions: [],
  site: null,
  auth: null,
  api: null,
  assets: null,
  third_parties: null,
  cookies: null,
  security: null,
  seo: null,
  automation: null,
  har: null,
  screenshot: null,
  usage: { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 },
  error: null,
};

/** What is stored as the job's result. Without links: they are credentials. */
export function toResult({ jobId, subject }: { jobId: string; subject: InspectSubject }, outcome: InspectOutcome): InspectResponse {
  const { report, status, screenshot, sessionId, usage } = outcome;
  // What is said beside the report, which is redacted itself.
  const { block, actions, warnings, error } = mapTexts(
    { block: outcome.block, actions: outcome.actions, warnings: outcome.warnings, error: outcome.error },
    (text, field) => (field === null ? text : redactText(text, { placeholder: '[redacted]' })),
    { keepsIds: true },
  );
  const { startedAt, durationMs, ...sections } = report ?? { startedAt: null, durationMs: outcome.durationMs };
  const isOfHar = sessionId === null && report !== null;
  return {
    ...nothing,
    ...sections,
    inspect_id: subject.inspect_id,
    job_id: jobId,
    session_id: sessionId,
    status,
    started_at: (isOfHar ? startedAt : null) ?? outcome.startedAt.toISOString(),
    duration_ms: isOfHar ? durationMs : outcome.durationMs,
    block,
    actions,
    warnings: [...new Set([...warnings, ...(report?.warnings ?? [])])],
    screenshot,
    usage,
    error,
    metadata: subject.metadata,
  };
}

/** The response of a job without a result: running, cancelled, or lost with its worker. */
export function toUnfinished(record: JobRecord): InspectResponse {
  const { jobId, createdAt, status, error } = record;
  const subject = record.subject as InspectSubject;
  return {
    ...nothing,
    inspect_id: subject.inspect_id,
    job_id: jobId,
    session_id: sessionIdOf(record),
    status,
    started_at: createdAt.toISOString(),
    usage: { ...nothing.usage, ...record.usage },
    error,
    metadata: subject.metadata,
  };
}
