import type { PageEntry } from '../../page-entry.ts';

export const sessionPages: readonly PageEntry[] = [
  { path: '/sessions', title: 'Sessions', icon: 'window', audience: 'key', load: () => import('./wall.tsx') },
  {
    path: '/sessions/new',
    title: 'Create a session',
    icon: 'plus',
    audience: 'key',
    inNavigation: false,
    load: () => import('./create.tsx'),
  },
  { path: '/profiles', title: 'Profiles', icon: 'person', audience: 'key', load: () => import('./profiles.tsx') },
  { path: '/sessions/:session_id/live', title: 'Live view', icon: 'window', audience: 'key', load: () => import('./session/live.tsx') },
  { path: '/sessions/:session_id', title: 'Session', icon: 'window', audience: 'key', load: () => import('./session/session.tsx') },
];
