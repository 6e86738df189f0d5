import { listTasks, listTemplates, runAgent, runTemplate } from '@berth/contract';
import type { Call, Routes } from '../../http/call.ts';
import type { Flows } from './flows.ts';

export function mountFlows(routes: Routes, flows: Flows): void {
  routes.on(runAgent, async (call) => withPollUrl(call, await flows.agent(call.principal, call.body, call.signal)));
  routes.on(runTemplate, async (call) => withPollUrl(call, await flows.template(call.principal, call.body, call.signal)));
  routes.on(listTasks, () => Promise.resolve(flows.tasks()));
  routes.on(listTemplates, ({ query }) => Promise.resolve(flows.templates(query.format)));
}

/** The URL as the caller reaches the service, also in `Location`. */
function withPollUrl<T extends { poll_url: string | null }>(call: Pick<Call, 'origin' | 'setHeader'>, response: T): T {
  if (response.poll_url === null) return response;
  const url = call.origin + response.poll_url;
  call.setHeader('location', url);
  call.setHeader('retry-after', '1');
  return { ...response, poll_url: url };
}
