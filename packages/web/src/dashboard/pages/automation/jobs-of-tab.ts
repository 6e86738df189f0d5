/** The jobs of this tab, for all pages that start or show them. They last as long as the key that started them. */
import { effect } from '@preact/signals';
import { call } from '../../api.ts';
import { toShown } from '../../api-error.ts';
import { has, isRemembered } from '../../credentials.ts';
import { jobStorageName } from './job-storage.ts';
import { StartedJobs, type JobStorage } from './started-jobs.ts';

const storage: JobStorage = {
  read: () => sessionStorage.getItem(jobStorageName),
  write: (text) => sessionStorage.setItem(jobStorageName, text),
  remove: () => sessionStorage.removeItem(jobStorageName),
};

/** Stored only where the key is. */
export const startedJobs = new StartedJobs(() => (isRemembered.peek() ? storage : null));

effect(() => {
  if (!has('key')) startedJobs.clear();
});

/** More are not read at once; the others follow when these have ended. */
const readMax = 5;

/** Reads what became of the newest jobs that were pending, and drops those that the service has deleted. @throws ApiError */
export async function refreshPending(signal: AbortSignal): Promise<void> {
  const pending = startedJobs.list.value.filter(({ status }) => status === 'pending').slice(0, readMax);
  await Promise.all(
    pending.map(async ({ jobId }) => {
      try {
        const { status } = await call('getJob', { params: { job_id: jobId }, signal });
        startedJobs.update(jobId, status);
      } catch (error) {
        const { status } = toShown(error);
        if (status !== 404 && status !== 410) throw error;
        startedJobs.remove(jobId);
      }
    }),
  );
}
