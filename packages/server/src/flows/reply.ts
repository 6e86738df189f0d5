/** The responses of flows and templates. Everything that a page or a step says is returned without the run's secrets. */
import type { AgentResponse, TemplateResponse } from '@berth/contract';
import type { JobOutcome, JobRecord } from '../jobs/jobs.ts';
import { redactSecrets } from './secrets.ts';
import type { FlowSpec } from './spec.ts';
import type { WorkResult } from './work.ts';

/** Of a flow or a template, before its name. */
export type FlowResponse = Omit<AgentResponse, 'task'>;

interface Frame {
  jobId: string | null;
  createdAt: Date;
  finishedAt: Date;
}

export function toFlowResult({ jobId, createdAt, finishedAt }: Frame, spec: FlowSpec, result: WorkResult): FlowResponse {
  const { output, steps, error, finalUrl, warnings, status, block, usage, sessionId, startedAt } = result;
  const shown = redactSecrets({ output: output ?? null, steps, error, final_url: finalUrl, warnings }, spec.secrets);
  return {
    ...{ job_id: jobId, poll_url: null, version: spec.flow.version, status, ...shown },
    ...{ session_id: sessionId, block, usage, metadata: spec.request.metadata },
    created_at: createdAt.toISOString(),
    started_at: startedAt.toISOString(),
    finished_at: finishedAt.toISOString(),
  };
}

/** The response of a submitted job. */
export function toPending(record: JobRecord, { flow, request }: FlowSpec): FlowResponse {
  return {
    ...{ job_id: record.jobId, poll_url: pollPath(record.jobId), version: flow.version, status: record.status, output: null, steps: [] },
    ...{ session_id: record.sessionId, block: null, final_url: null, warnings: [], error: record.error, metadata: request.metadata },
    usage: { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 0 },
    created_at: record.createdAt.toISOString(),
    started_at: null,
    finished_at: null,
  };
}

const pollPath = (jobId: string): string => `/v1/job/${jobId}`;

export const toJobOutcome = (response: AgentResponse | TemplateResponse): JobOutcome => ({
  status: response.status === 'pending' ? 'error' : response.status,
  result: { ...response, poll_url: response.job_id === null ? null : pollPath(response.job_id) },
  error: response.error,
  usage: response.usage,
});

export const withName = ({ request }: FlowSpec, response: FlowResponse): AgentResponse | TemplateResponse =>
  request.kindOfWork === 'agent' ? { ...response, task: request.name } : { ...response, template: request.name };
