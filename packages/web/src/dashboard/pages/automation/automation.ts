import type { PageEntry } from '../../page-entry.ts';

export const automationPages: readonly PageEntry[] = [
  { path: '/fetch', title: 'Fetch', icon: 'globe', audience: 'key', load: () => import('./fetch.tsx') },
  { path: '/inspections', title: 'Inspections', icon: 'search', audience: 'key', load: () => import('./inspections.tsx') },
  { path: '/inspections/:job_id', title: 'Inspection', icon: 'search', audience: 'key', load: () => import('./inspection.tsx') },
  { path: '/flows', title: 'Flows', icon: 'flow', audience: 'key', load: () => import('./flows.tsx') },
  { path: '/flows/:name', title: 'Flow', icon: 'flow', audience: 'key', load: () => import('./flow.tsx') },
  { path: '/templates/:name', title: 'Template', icon: 'flow', audience: 'key', load: () => import('./template.tsx') },
  { path: '/jobs', title: 'Jobs', icon: 'list', audience: 'key', load: () => import('./jobs.tsx') },
  { path: '/jobs/:job_id', title: 'Job', icon: 'list', audience: 'key', load: () => import('./job.tsx') },
  { path: '/skills', title: 'Skills', icon: 'star', audience: 'key', load: () => import('./skills.tsx') },
];
