import type { PageEntry } from '../../page-entry.ts';

const page = (entry: Omit<PageEntry, 'audience'>): PageEntry => ({ ...entry, audience: 'admin' });

/** What operators see: with the admin key. */
export const operatorPages: readonly PageEntry[] = [
  page({ path: '/operator/overview', title: 'Overview', icon: 'chart', load: () => import('./overview.tsx') }),
  page({ path: '/operator/pool', title: 'Warm pool', icon: 'target', load: () => import('./fleet/pool.tsx') }),
  page({ path: '/operator/sessions', title: 'All sessions', icon: 'window', load: () => import('./sessions.tsx') }),
  page({ path: '/operator/workers', title: 'Workers and loops', icon: 'server', load: () => import('./fleet/workers.tsx') }),
  page({ path: '/operator/blocks', title: 'Blocks', icon: 'shield', load: () => import('./sites/blocks.tsx') }),
  page({ path: '/operator/sites', title: 'Site health', icon: 'globe', load: () => import('./sites/sites.tsx') }),
  page({ path: '/operator/sites/:owner/:domain', title: 'Site', icon: 'globe', load: () => import('./sites/site.tsx') }),
  page({ path: '/operator/economics', title: 'Economics', icon: 'coins', load: () => import('./accounts/economics.tsx') }),
  page({ path: '/operator/owners', title: 'Owners', icon: 'list', load: () => import('./accounts/owners.tsx') }),
  page({ path: '/operator/owners/:owner', title: 'Owner', icon: 'list', load: () => import('./accounts/owner.tsx') }),
  page({ path: '/operator/keys', title: 'All keys', icon: 'key', load: () => import('./accounts/keys.tsx') }),
  page({ path: '/operator/codes', title: 'Codes', icon: 'star', load: () => import('./accounts/codes.tsx') }),
  page({ path: '/operator/audit', title: 'Audit log', icon: 'file', load: () => import('./accounts/audit.tsx') }),
  page({ path: '/operator/settings', title: 'Settings', icon: 'gear', load: () => import('./settings.tsx') }),
];
