/** Follows one job until it ends. */
import type { JobResponse } from '@berth/contract';
import { BackOff } from '../../../../shared/link/back-off.ts';
import { toShown, type ApiError } from '../../../api-error.ts';

/** `problem`: why what is shown may be out of date; another attempt follows. */
export type WatchState =
  | { status: 'loading'; problem: ApiError | null }
  | { status: 'ready'; job: JobResponse; problem: ApiError | null }
  | { status: 'failed'; error: ApiError };

export interface WatchOptions {
  /** Reads the job; waits up to `waitSeconds` for its end. */
  read: (waitSeconds: number) => Promise<JobResponse>;
  onState: (state: WatchState) => void;
  signal: AbortSignal;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  now?: () => number;
}

/** A poll returns at the end of the job, or after this time with its progress. */
const pollSeconds = 5;

/** Resolves when the job has ended, cannot be read, or the signal aborts. */
export async function watchJob({ read, onState, signal, sleep = delay, now = () => performance.now() }: WatchOptions): Promise<void> {
  const backOff = new BackOff();
  let job: JobResponse | undefined;
  while (!signal.aborted) {
    const waitSeconds = job ? pollSeconds : 0;
    const endMs = now() + waitSeconds * 1000;
    try {
      job = await read(waitSeconds);
      if (signal.aborted) return;
      backOff.reset();
      onState({ status: 'ready', job, problem: null });
      if (job.status !== 'pending') return;
      // At its limit of open polls the service answers at once.
      await sleep(Math.max(0, endMs - now()), signal);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = toShown(thrown);
      if (!isTemporary(error)) return onState({ status: 'failed', error });
      onState(job ? { status: 'ready', job, problem: error } : { status: 'loading', problem: error });
      await sleep(Math.max(backOff.next(), (error.retryAfterSeconds ?? 0) * 1000), signal);
    }
  }
}

/** Whether the same request may succeed in a moment. */
const isTemporary = ({ status, code }: ApiError): boolean => code === 'unreachable' || status === 429 || status >= 500;

/** Resolves also when the signal aborts. */
const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
