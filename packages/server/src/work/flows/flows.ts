/** Flows and templates: named work in a browser, synchronously or as a job. */
import {
  ServiceError,
  ValidationError,
  type AgentRequest,
  type AgentResponse,
  type AgentTaskResponse,
  type TemplateItemResponse,
  type TemplateRequest,
  type TemplateResponse,
} from '@berth/contract';
import { carriesSecrets, type FetchSpecDeps } from '../fetch/fetch.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { JobDescription, JobOutcome, JobRecord, JobRequest, Jobs, JobWork } from '../jobs/jobs.ts';
import { newId } from '@berth/lib/ids.ts';
import { newAdmissionId } from '../../accounts/metering/metering.ts';
import { Allowance } from './allowance.ts';
import { exportPlaywright } from './export/playwright.ts';
import { exportRecording } from './export/recording.ts';
import { toJsonSchema, type Flow, type FlowInfo } from './flow.ts';
import { LlmClient, type LlmConfig } from './llm/client.ts';
import { createLlmTask } from './llm/llm-task.ts';
import { flows, templates } from './registry.ts';
import { toFlowResult, toJobOutcome, toPending, withName } from './reply.ts';
import { createFlowSpec, needsOwnSession, toAgentWork, toTemplateWork, type FlowLists, type FlowRequest, type FlowSpec } from './spec.ts';
import { FlowWork, type WorkContext, type WorkDeps } from './work.ts';

export interface FlowsDeps extends FetchSpecDeps, WorkDeps {
  jobs: Jobs;
  /** Null: there is no flow `llm_task`. */
  llm: LlmConfig | null;
}

export type { LlmConfig } from './llm/client.ts';

/** A run that has ended, for the metrics. */
export interface FinishedRun {
  /** Name of the flow or template. */
  task: string;
  status: 'ok' | 'blocked' | 'error' | 'cancelled';
  ms: number;
}

type TemplateFormat = 'steps' | 'recorder' | 'playwright';

/** How long a job may be queued. */
const queuedMsMax = 10 * 60_000;
/** How long the admission outlives the run's own timeout, until the charge is written. */
const chargeMsMax = 120_000;

interface Admitted {
  spec: FlowSpec;
  allowance: Allowance;
  createdAt: Date;
}

const byName = (list: readonly Flow[]): ReadonlyMap<string, Flow> => new Map(list.map((flow) => [flow.name, flow]));

export class Flows {
  readonly #deps: FlowsDeps;
  readonly #flows: readonly Flow[];
  readonly #lists: FlowLists;
  readonly #listeners: ((run: FinishedRun) => void)[] = [];
  #tasks: AgentTaskResponse[] | null = null;

  constructor(deps: FlowsDeps) {
    this.#deps = deps;
    this.#flows = deps.llm ? [...flows, createLlmTask(new LlmClient(deps.llm))] : flows;
    this.#lists = { agent: byName(this.#flows), template: byName(templates) };
    for (const kind of ['agent', 'template'] as const)
      deps.jobs.describe(kind, (description, record) => this.#describedWork(description, record));
  }

  /** Called at the end of each run that started. */
  onFinished(listener: (run: FinishedRun) => void): void {
    this.#listeners.push(listener);
  }

  tasks(): AgentTaskResponse[] {
    this.#tasks ??= this.#flows.map(toItem);
    return this.#tasks;
  }

  templates(format: TemplateFormat): TemplateItemResponse[] {
    return templates.map((template) => ({
      ...toItem(template),
      steps: [...(template.steps ?? [])],
      recording: format === 'recorder' ? exportRecording(template.title, template.steps ?? []) : null,
      playwright: format === 'playwright' ? exportPlaywright(template.title, template.steps ?? []) : null,
    }));
  }

  /** @throws ServiceError unknown_task, ValidationError for inputs; failures of the run are in the response */
  agent(principal: Principal, request: AgentRequest, signal: AbortSignal): Promise<AgentResponse> {
    return this.#start(principal, toAgentWork(request), signal) as Promise<AgentResponse>;
  }

  /** @throws ServiceError unknown_template, ValidationError for inputs; failures of the run are in the response */
  template(principal: Principal, request: TemplateRequest, signal: AbortSignal): Promise<TemplateResponse> {
    return this.#start(principal, toTemplateWork(request), signal) as Promise<TemplateResponse>;
  }

  async #start(principal: Principal, request: FlowRequest, signal: AbortSignal): Promise<AgentResponse | TemplateResponse> {
    const opId = newAdmissionId();
    const admitted = await this.#admit(principal, request, { opId, createdAt: this.#deps.clock.now() });
    const description = canMove(admitted.spec) ? { principal, body: request, opId } : undefined;
    if (request.async) return this.#submit(admitted, description, signal);
    const context = { jobId: null, signal, progress: () => undefined, touch: () => Promise.resolve() };
    return this.#execute(admitted, { ...context, newSessionId: newId('ses') });
  }

  /** @throws ServiceError plan_limit_exceeded, insufficient_credits, and what `createFlowSpec` throws */
  async #admit(principal: Principal, request: FlowRequest, { opId, createdAt }: { opId: string; createdAt: Date }): Promise<Admitted> {
    const spec = await createFlowSpec({ ...this.#deps, lists: this.#lists }, principal, request);
    const ttlMs = (request.async ? queuedMsMax : 0) + request.timeout_ms + chargeMsMax;
    const allowance = new Allowance(this.#deps.metering, { owner: spec.machine.owner, ttlMs, opId });
    // Before anything else, so that an owner with an exhausted plan is refused without any effect.
    await allowance.reserve(1);
    return { spec, allowance, createdAt };
  }

  /** A run that another worker accepted: plan and region are those of now. */
  #describedWork({ principal, body, opId }: JobDescription, { createdAt, sessionId }: JobRecord): JobWork {
    const request = body as FlowRequest;
    return {
      runMsMax: request.timeout_ms,
      run: async (context) => {
        const admitted = await this.#admit(principal, request, { opId, createdAt }).catch(throwAsServiceError);
        return this.#run(admitted, { ...context, newSessionId: sessionId });
      },
    };
  }

  async #submit(
    { spec, allowance, createdAt }: Admitted,
    description: JobDescription | undefined,
    signal: AbortSignal,
  ): Promise<AgentResponse | TemplateResponse> {
    const { request, flow } = spec;
    try {
      const session = await this.#pickSession(spec, signal);
      const record = await this.#deps.jobs.submit({
        owner: spec.machine.owner,
        kind: request.kindOfWork,
        ...session,
        subject: { name: flow.name, metadata: request.metadata },
        queuedMsMax,
        runMsMax: request.timeout_ms,
        description,
        run: (context) => this.#run({ spec, allowance, createdAt }, { ...context, newSessionId: session.sessionId }),
        onNeverStarted: () => void allowance.drop(),
      });
      return withName(spec, toPending(record, spec));
    } catch (error) {
      await allowance.drop();
      throw error;
    }
  }

  async #run(admitted: Admitted, context: WorkContext): Promise<JobOutcome> {
    return toJobOutcome(await this.#execute(admitted, context).catch(throwAsServiceError));
  }

  async #execute({ spec, allowance, createdAt }: Admitted, context: WorkContext): Promise<AgentResponse | TemplateResponse> {
    const startMs = this.#deps.clock.monotonicMs();
    const report = (status: FinishedRun['status']): void => {
      const ms = this.#deps.clock.monotonicMs() - startMs;
      for (const listener of this.#listeners) listener({ task: spec.flow.name, status, ms });
    };
    const result = await new FlowWork(this.#deps, spec, { context, allowance }).execute().catch((error: unknown) => {
      report(context.signal.aborted ? 'cancelled' : 'error');
      throw error;
    });
    report(result.status);
    const frame = { jobId: context.jobId, createdAt, finishedAt: this.#deps.clock.now() };
    return withName(spec, await toFlowResult(frame, spec, result));
  }

  /** A job's id begins with the session that it runs in. */
  async #pickSession(spec: FlowSpec, signal: AbortSignal): Promise<Pick<JobRequest, 'sessionId' | 'session'>> {
    const { request, machine } = spec;
    if (request.session_id !== null) return { sessionId: request.session_id, session: 'known' };
    if (needsOwnSession(spec)) return { sessionId: newId('ses'), session: 'own' };
    return { sessionId: await this.#deps.machines.reserve(machine, signal), session: 'known' };
  }
}

/** Whether another worker may run it: then its request is stored until it ends. */
const canMove = ({ request: { session_id: sessionId, proxy }, secrets, inputs }: FlowSpec): boolean =>
  sessionId === null && Object.keys(secrets).length === 0 && !carriesSecrets({ proxy, actions: inputs });

const toItem = ({ name, title, description, version, category, inputs, output, example }: FlowInfo): AgentTaskResponse => ({
  ...{ name, title, description, version, category, example },
  inputs: toJsonSchema(inputs, 'input'),
  output: toJsonSchema(output, 'output'),
});

/** A request error that only showed when the job ran. */
function throwAsServiceError(error: unknown): never {
  if (error instanceof ValidationError) throw new ServiceError('bad_request', error.message);
  throw error;
}
