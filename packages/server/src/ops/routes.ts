import { health, livez, metrics } from '@berth/contract';
import type { Routes } from '../http/call.ts';
import type { Metrics } from './metrics.ts';
import type { Ops } from './ops.ts';

export function mountOps(routes: Routes, ops: Ops): void {
  routes.on(health, async (call) => {
    const report = await ops.health();
    if (report.status !== 'ok') call.setStatus(503);
    return report;
  });
  routes.on(livez, () => ({ status: 'ok' as const }));
}

export function mountMetrics(routes: Routes, figures: Metrics): void {
  routes.on(metrics, async (call) => {
    call.setHeader('content-type', figures.contentType);
    return figures.text();
  });
}
