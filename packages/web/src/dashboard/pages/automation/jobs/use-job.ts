/** One job of the API in a component. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from '../../../api.ts';
import { watchJob, type WatchState } from './job-watch.ts';

export interface WatchedJob {
  state: WatchState;
  /** Cancels the job and shows what it is then. @throws ApiError */
  cancel: () => Promise<void>;
}

/** Follows a job until it ends, as long as the component is shown. */
export function useJob(jobId: string): WatchedJob {
  const state = useSignal<WatchState>({ status: 'loading', problem: null });
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    state.value = { status: 'loading', problem: null };
    const show = (next: WatchState): void => {
      state.value = next;
    };
    const read = (waitSeconds: number) => call('getJob', { params: { job_id: jobId }, query: { wait_seconds: waitSeconds }, signal });
    void watchJob({ read, onState: show, signal });
    return () => stop.abort();
  }, [jobId]);
  const cancel = async (): Promise<void> => {
    const job = await call('cancelJob', { params: { job_id: jobId } });
    state.value = { status: 'ready', job, problem: null };
  };
  return { state: state.value, cancel };
}
