import { listTasks, listTemplates, runAgent, runTemplate } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { withPollUrl } from '../../http/poll-url.ts';
import type { Flows } from './flows.ts';

export function mountFlows(routes: Routes, flows: Flows): void {
  routes.on(runAgent, async (call) => withPollUrl(call, await flows.agent(call.principal, call.body, call.signal)));
  routes.on(runTemplate, async (call) => withPollUrl(call, await flows.template(call.principal, call.body, call.signal)));
  routes.on(listTasks, () => Promise.resolve(flows.tasks()));
  routes.on(listTemplates, ({ query }) => Promise.resolve(flows.templates(query.format)));
}
