/** The responses of flows and templates. Everything that a page or a step says is returned without the run's secrets. */
import type { AgentResponse, TemplateResponse, WorkError } from '@berth/contract';
import type { Frame } from '../engine/engine.ts';
import type { JobRecord } from '../jobs/jobs.ts';
import { ResultTooLargeError, type Secrets, redactSecrets, resultCharsMax } from '@berth/flows';
import type { FlowSpec } from './spec.ts';
import type { WorkResult } from './work.ts';

/** Response of a flow or a template, before its name is added. */
export type FlowResponse = Omit<AgentResponse, 'task'>;

export async function toFlowResult(
  { jobId, createdAt, finishedAt }: Omit<Frame, 'subject'>,
  spec: FlowSpec,
  result: WorkResult,
): Promise<FlowResponse> {
  const { block, usage, sessionId, startedAt } = result;
  return {
    ...{ job_id: jobId, poll_url: jobId && pollPath(jobId), version: spec.flow.version, ...(await toShown(result, spec.secrets)) },
    ...{ session_id: sessionId, block, usage, metadata: spec.request.metadata },
    created_at: createdAt.toISOString(),
    started_at: startedAt.toISOString(),
    finished_at: finishedAt.toISOString(),
  };
}

const resultTooLarge: WorkError = {
  code: 'result_too_large',
  message: `The output exceeds ${resultCharsMax} characters. Collect less: fewer pages, fewer fields, or a part of the page.`,
  retryable: false,
};

type Shown = Pick<FlowResponse, 'status' | 'output' | 'steps' | 'error' | 'final_url' | 'warnings'>;

/** The result without secrets. Of what is too large, the rest remains. */
async function toShown({ status, output, steps, error, finalUrl, warnings }: WorkResult, secrets: Secrets): Promise<Shown> {
  const rest = { steps, error, final_url: finalUrl, warnings };
  const parts: Shown[] = [
    { status, output: output ?? null, ...rest },
    { status: 'error', output: null, ...rest, error: resultTooLarge },
  ];
  for (const part of parts) {
    const shown = await redactSecrets(part, secrets).catch((problem: unknown) => {
      if (problem instanceof ResultTooLargeError) return null;
      throw problem;
    });
    if (shown) return { ...shown, status: part.status };
  }
  return { status: 'error', output: null, steps: [], error: resultTooLarge, final_url: null, warnings: [] };
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

export const withName = ({ request }: FlowSpec, response: FlowResponse): AgentResponse | TemplateResponse =>
  request.kindOfWork === 'agent' ? { ...response, task: request.name } : { ...response, template: request.name };
