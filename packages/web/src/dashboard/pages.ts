/** All pages of the dashboard. To add one, add a line to its area: the file it names is loaded when somebody opens it. */
import type { PageArea, PageEntry } from './page-entry.ts';
import { accountPages } from './pages/account/account.ts';
import { homePages } from './pages/home/home.ts';
import { operatorPages } from './pages/operator/operator.ts';
import { recordingPages } from './pages/recordings/recordings.ts';
import { sessionPages } from './pages/sessions/sessions.ts';
import { automationPages } from './pages/automation/automation.ts';

/** Areas of the dashboard, in the order of the navigation. */
export const areas: readonly PageArea[] = [
  { title: '', pages: homePages },
  { title: 'Browsers', pages: [...sessionPages, ...recordingPages] },
  { title: 'Work', pages: automationPages },
  { title: 'Account', pages: accountPages },
  { title: 'Operations', pages: operatorPages },
];

export const pages: readonly PageEntry[] = areas.flatMap((area) => area.pages);

export const isInNavigation = ({ path, inNavigation = !path.includes(':') }: PageEntry): boolean => inNavigation;
