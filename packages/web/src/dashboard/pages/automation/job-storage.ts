/** Where the tab's jobs are stored. Loaded with the dashboard, so that no sign-out leaves them to the next user. */
import { effect } from '@preact/signals';
import { has } from '../../credentials.ts';

export const jobStorageName = 'berth-jobs';

effect(() => {
  if (!has('key')) sessionStorage.removeItem(jobStorageName);
});
