import type { PageEntry } from '../../page-entry.ts';

export const automationPages: readonly PageEntry[] = [
  { path: '/fetch', title: 'Fetch', icon: 'globe', audience: 'key', load: () => import('./fetch/fetch.tsx') },
  { path: '/inspections', title: 'Inspections', icon: 'search', audience: 'key', load: () => import('./inspect/inspections.tsx') },
  { path: '/inspections/:job_id', title: 'Inspection', icon: 'search', audience: 'key', load: () => import('./inspect/inspection.tsx') },
  { path: '/flows', title: 'Flows', icon: 'flow', audience: 'key', load: () => import('./flows/flows.tsx') },
  { path: '/flows/:name', title: 'Flow', icon: 'flow', audience: 'key', load: () => import('./flows/flow.tsx') },
  { path: '/templates/:name', title: 'Template', icon: 'flow', audience: 'key', load: () => import('./flows/template.tsx') },
  { path: '/jobs', title: 'Jobs', icon: 'list', audience: 'key', load: () => import('./jobs/jobs.tsx') },
  { path: '/jobs/:job_id', title: 'Job', icon: 'list', audience: 'key', load: () => import('./jobs/job.tsx') },
  { path: '/skills', title: 'Skills', icon: 'star', audience: 'key', load: () => import('./flows/skills.tsx') },
];
