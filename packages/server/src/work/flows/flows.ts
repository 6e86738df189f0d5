/** Flows and templates: named work in a browser, synchronously or as a job. */
import type {
  AgentRequest,
  AgentResponse,
  AgentTaskResponse,
  TemplateItemResponse,
  TemplateRequest,
  TemplateResponse,
} from '@berth/contract';
import type { Principal } from '../../accounts/principals/principals.ts';
import { carriesSecrets, Engine, type EngineDeps, type MachineSpecDeps, type WorkKind } from '../engine/engine.ts';
import {
  type Flow,
  type FlowInfo,
  LlmClient,
  type LlmConfig,
  createLlmTask,
  exportPlaywright,
  exportRecording,
  flows,
  templates,
  toJsonSchema,
} from '@berth/flows';
import { toFlowResult, toPending, withName } from './reply.ts';
import { createFlowSpec, needsOwnSession, toAgentWork, toTemplateWork, type FlowLists, type FlowRequest, type FlowSpec } from './spec.ts';
import { FlowWork, type FinishedRun, type WorkDeps, type WorkResult } from './work.ts';

export interface FlowsDeps extends EngineDeps, MachineSpecDeps, Omit<WorkDeps, 'onFinished'> {
  /** Null: there is no flow `llm_task`. */
  llm: LlmConfig | null;
}

export type { LlmConfig } from '@berth/flows';
export type { FinishedRun } from './work.ts';

type TemplateFormat = 'steps' | 'recorder' | 'playwright';

type FlowReply = AgentResponse | TemplateResponse;
type FlowKind = WorkKind<FlowRequest, FlowSpec, WorkResult, FlowReply>;

const byName = (list: readonly Flow[]): ReadonlyMap<string, Flow> => new Map(list.map((flow) => [flow.name, flow]));

export class Flows {
  readonly #flows: readonly Flow[];
  readonly #engine: Engine<FlowRequest, FlowSpec, WorkResult, FlowReply>;
  readonly #listeners: ((run: FinishedRun) => void)[] = [];
  #tasks: AgentTaskResponse[] | null = null;

  constructor(deps: FlowsDeps) {
    this.#flows = deps.llm ? [...flows, createLlmTask(new LlmClient(deps.llm))] : flows;
    const lists = { agent: byName(this.#flows), template: byName(templates) };
    const onFinished = (run: FinishedRun): void => {
      for (const listener of this.#listeners) listener(run);
    };
    this.#engine = new Engine(deps, createKind({ ...deps, lists }, { ...deps, onFinished }));
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

  async #start(principal: Principal, request: FlowRequest, signal: AbortSignal): Promise<FlowReply> {
    if (!request.async) return this.#engine.run(principal, request, signal);
    const { record, spec } = await this.#engine.submit(principal, request, signal);
    return withName(spec, toPending(record, spec));
  }
}

const createKind = (deps: MachineSpecDeps & { lists: FlowLists }, workDeps: WorkDeps): FlowKind => ({
  jobKinds: ['agent', 'template'],
  check: (principal, request) => createFlowSpec(deps, principal, request),
  needs: (spec) => {
    const { request, flow, machine, secrets, inputs } = spec;
    return {
      jobKind: request.kindOfWork,
      machine,
      place: needsOwnSession(spec) ? 'session' : 'page',
      // Nobody knows yet how many steps it takes: the others are admitted as it goes on.
      actions: 1,
      subject: { name: flow.name, metadata: request.metadata },
      hasSecrets: Object.keys(secrets).length > 0 || carriesSecrets({ proxy: request.proxy, actions: inputs }),
      reserveMs: 0,
    };
  },
  begin: (spec, run) => new FlowWork(workDeps, spec, run),
  reply: async (frame, spec, result) => withName(spec, await toFlowResult(frame, spec, result)),
});

const toItem = ({ name, title, description, version, category, inputs, output, example }: FlowInfo): AgentTaskResponse => ({
  ...{ name, title, description, version, category, example },
  inputs: toJsonSchema(inputs, 'input'),
  output: toJsonSchema(output, 'output'),
});
