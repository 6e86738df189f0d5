import type { PageEntry } from '../../page-entry.ts';

export const homePages: readonly PageEntry[] = [
  { path: '/home', title: 'Home', icon: 'home', audience: 'key', load: () => import('./home.tsx') },
];
