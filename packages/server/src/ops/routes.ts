import { economics, getSettings, health, livez, metrics, overview, type SettingsResponse } from '@berth/contract';
import type { Routes } from '../http/call.ts';
import type { Economics } from './economics.ts';
import type { Metrics } from './metrics.ts';
import type { Ops } from './ops.ts';
import type { Overviews } from './overview.ts';

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

interface OpsAdmin {
  overviews: Overviews;
  economics: Economics;
  settings: () => SettingsResponse;
}

export function mountOpsAdmin(routes: Routes, { overviews, economics: numbers, settings }: OpsAdmin): void {
  routes.on(overview, () => overviews.read());
  routes.on(economics, () => numbers.read());
  routes.on(getSettings, settings);
}
