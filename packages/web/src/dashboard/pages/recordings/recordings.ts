import type { PageEntry } from '../../page-entry.ts';

export const recordingPages: readonly PageEntry[] = [
  { path: '/recordings', title: 'Recordings', icon: 'play', audience: 'key', load: () => import('./list.tsx') },
];
