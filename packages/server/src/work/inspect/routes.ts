import { getInspectArtifact, getInspectReport, inspect } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { toArtifact } from './artifacts.ts';
import type { Inspections, ReportLinks } from './inspect.ts';
import { reportHeaders, toReportHtml } from '@berth/site-report/page';

export function mountInspect(routes: Routes, inspections: Inspections, links: ReportLinks): void {
  routes.on(inspect, async (call) => {
    const { principal, body, signal, origin } = call;
    if (!body.async) return links.addTo(await inspections.inspect(principal, body, signal), call);
    const pending = await inspections.submit(principal, body, signal);
    const pollUrl = origin + (pending.poll_url ?? '');
    call.setHeader('location', pollUrl);
    call.setHeader('retry-after', '1');
    return { ...pending, poll_url: pollUrl };
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
