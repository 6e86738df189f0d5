import type { IconName } from '../../shared/icons.tsx';
import type { EventKind } from './timeline.ts';

export const kindDisplay: Readonly<Record<EventKind, { name: string; icon: IconName }>> = {
  page: { name: 'Pages', icon: 'globe' },
  action: { name: 'Actions', icon: 'pointer' },
  console: { name: 'Console', icon: 'terminal' },
  network: { name: 'Network', icon: 'network' },
  session: { name: 'Session', icon: 'window' },
  viewer: { name: 'Viewers', icon: 'people' },
};
