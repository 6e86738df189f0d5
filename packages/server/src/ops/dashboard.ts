/** The dashboard's page and configuration. All else it reads from the API, with the credential of who signed in. */
import { getDashboardConfig, openDashboard, openDashboardPage, type DashboardConfig } from '@berth/contract';
import type { Call, Routes } from '../http/call.ts';
import type { Pages } from '../watch/view/view.ts';

export function mountDashboard(routes: Routes, pages: Pages, config: DashboardConfig): void {
  const open = (call: Pick<Call, 'origin' | 'setHeader'>): string => {
    const { html, headers } = pages.page('dashboard', call.origin);
    for (const [name, value] of Object.entries(headers)) call.setHeader(name, value);
    return html;
  };
  routes.on(openDashboard, open);
  routes.on(openDashboardPage, open);
  routes.on(getDashboardConfig, () => config);
}
