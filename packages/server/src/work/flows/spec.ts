/** A request for a flow or a template, checked: its name, its inputs, and where it may run. */
import { ServiceError, ValidationError, dropNulls, type AgentRequest, type TemplateRequest } from '@berth/contract';
import { createMachineSpec, type MachineSpec, type MachineSpecDeps } from '../engine/engine.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { parsePart } from '@berth/lib/validation/issues.ts';
import { closestName } from '@berth/lib/text/closest-name.ts';
import { type Flow, type Secrets, collectSecrets } from '@berth/flows';

/** What flows and templates have in common. */
export interface FlowRequest extends Omit<AgentRequest, 'task'> {
  kindOfWork: 'agent' | 'template';
  name: string;
}

/** Whether it runs in a session of its own: one that is kept, has several tabs, or has a profile. */
export const needsOwnSession = ({ request, flow, inputs }: FlowSpec): boolean =>
  request.keep_session || Boolean(request.profile) || flow.needsSession(inputs);

export const toAgentWork = ({ task, ...request }: AgentRequest): FlowRequest => ({ ...request, kindOfWork: 'agent', name: task });
export const toTemplateWork = ({ template, ...request }: TemplateRequest): FlowRequest => ({
  ...request,
  kindOfWork: 'template',
  name: template,
});

export interface FlowSpec {
  flow: Flow;
  request: FlowRequest;
  inputs: Record<string, unknown>;
  secrets: Secrets;
  machine: MachineSpec;
}

export type FlowLists = Record<FlowRequest['kindOfWork'], ReadonlyMap<string, Flow>>;

/** @throws ServiceError unknown_task, unknown_template; ValidationError for inputs; what `createMachineSpec` throws */
export async function createFlowSpec(
  { lists, ...deps }: MachineSpecDeps & { lists: FlowLists },
  principal: Principal,
  request: FlowRequest,
): Promise<FlowSpec> {
  const flow = findFlow(lists, request);
  const inputs = parseInputs(flow, request.inputs);
  const { session_id, region, proxy, kind, profile } = request;
  const machine = await createMachineSpec(deps, principal, { session_id, region, proxy, kind, profile, block_ads: false });
  return { flow, request, inputs, secrets: collectSecrets(flow.inputs, inputs), machine };
}

function findFlow(lists: FlowLists, { kindOfWork, name }: FlowRequest): Flow {
  const flow = lists[kindOfWork].get(name);
  if (flow) return flow;
  const available = [...lists[kindOfWork].keys()];
  const near = closestName(name, available);
  const noun = kindOfWork === 'agent' ? 'flow' : 'template';
  const list = kindOfWork === 'agent' ? 'GET /v1/agent/tasks' : 'GET /v1/templates';
  throw new ServiceError(
    kindOfWork === 'agent' ? 'unknown_task' : 'unknown_template',
    `No ${noun} has this name.${near === null ? '' : ` Did you mean ${near}?`} See ${list}.`,
    { details: { available } },
  );
}

function parseInputs(flow: Flow, inputs: Record<string, unknown>): Record<string, unknown> {
  dropNulls(flow.inputs, inputs);
  const parsed = parsePart('body', flow.inputs, inputs);
  if (parsed.ok) return parsed.value as Record<string, unknown>;
  throw new ValidationError(
    parsed.issues.map(({ loc: [part = 'body', ...path], ...issue }) => ({ ...issue, loc: [part, 'inputs', ...path] })),
  );
}
