import type { PageEntry } from '../../page-entry.ts';

const page = (entry: Omit<PageEntry, 'audience'>): PageEntry => ({ ...entry, audience: 'admin' });

/** What operators see: with the admin key. */
export const operatorPages: readonly PageEntry[] = [
  page({ path: '/operator/overview', title: 'Overview', icon: 'chart', load: () => import('./overview.tsx') }),
  page({ path: '/operator/pool', title: 'Warm pool', icon: 'target', load: () => import('./pool.tsx') }),
  page({ path: '/operator/sessions', title: 'All sessions', icon: 'window', load: () => import('./sessions.tsx') }),
  page({ path: '/operator/workers', title: 'Workers and loops', icon: 'server', load: () => import('./workers.tsx') }),
  page({ path: '/operator/blocks', title: 'Blocks', icon: 'shield', load: () => import('./blocks.tsx') }),
  page({ path: '/operator/sites', title: 'Site health', icon: 'globe', load: () => import('./sites.tsx') }),
  page({ path: '/operator/sites/:owner/:domain', title: 'Site', icon: 'globe', load: () => import('./site.tsx') }),
  page({ path: '/operator/economics', title: 'Economics', icon: 'coins', load: () => import('./economics.tsx') }),
  page({ path: '/operator/owners', title: 'Owners', icon: 'list', load: () => import('./owners.tsx') }),
  page({ path: '/operator/owners/:owner', title: 'Owner', icon: 'list', load: () => import('./owner.tsx') }),
  page({ path: '/operator/keys', title: 'All keys', icon: 'key', load: () => import('./keys.tsx') }),
  page({ path: '/operator/codes', title: 'Codes', icon: 'star', load: () => import('./codes.tsx') }),
  page({ path: '/operator/audit', title: 'Audit log', icon: 'file', load: () => import('./audit.tsx') }),
  page({ path: '/operator/settings', title: 'Settings', icon: 'gear', load: () => import('./settings.tsx') }),
];
