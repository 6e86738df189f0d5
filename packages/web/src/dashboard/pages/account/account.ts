import type { PageEntry } from '../../page-entry.ts';

export const accountPages: readonly PageEntry[] = [
  { path: '/usage', title: 'Usage', icon: 'chart', audience: 'key', load: () => import('./usage.tsx') },
  { path: '/credits', title: 'Credits', icon: 'coins', audience: 'key', load: () => import('./credits.tsx') },
  { path: '/connect-tokens', title: 'Connect tokens', icon: 'code', audience: 'key', load: () => import('./connect-tokens.tsx') },
  { path: '/keys', title: 'API keys', icon: 'key', audience: 'login', load: () => import('./keys.tsx') },
  { path: '/billing', title: 'Billing', icon: 'file', audience: 'login', load: () => import('./billing.tsx') },
];
