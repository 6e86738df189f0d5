import { getInspectArtifact, getInspectReport, inspect } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { withPollUrl } from '../../http/poll-url.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { toArtifact } from './artifacts.ts';
import type { Inspections, ReportLinks } from './inspect.ts';
import { reportHeaders, toReportHtml } from '@berth/site-report/page';

export function mountInspect(routes: Routes, inspections: Inspections, links: ReportLinks): void {
  routes.on(inspect, async (call) => {
    const { principal, body, signal } = call;
    if (body.async) return withPollUrl(call, await inspections.submit(principal, body, signal));
    return links.addTo(await inspections.inspect(principal, body, signal), call);
  });
  routes.on(getInspectReport, async (call) => {
    const { principal, params, signal } = call;
    const report = await inspections.report(ownerOf(principal), params.job_id, signal);
    for (const [name, value] of Object.entries(reportHeaders)) call.setHeader(name, value);
    return toReportHtml(report);
  });
  routes.onFile(getInspectArtifact, async ({ principal, params, signal }) =>
    toArtifact(await inspections.report(ownerOf(principal), params.job_id, signal), params.name),
  );
}
