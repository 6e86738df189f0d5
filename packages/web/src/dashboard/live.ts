/** Data that changes: by server-sent events where the API has them, else read again at intervals. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { SessionEventResponse } from '@berth/contract';
import { useEffect, useRef } from 'preact/hooks';
import { toShown, type ApiError } from './api-error.ts';
import { eventsOf } from './api.ts';

/** Nothing is read more often. */
export const intervalMsMin = 5000;

export interface Live<T> {
  /** The last that was read, also while it is read again or cannot be read. */
  data: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  /** Reads again now. */
  reload: () => Promise<void>;
}

interface LiveOptions {
  /** Default: read once. Values below `intervalMsMin` are raised to it. */
  everyMs?: number;
  /** Reads afresh when one of these changes. */
  inputs?: readonly unknown[];
  /** Reads nothing while false. */
  isEnabled?: boolean;
}

/** Reads data for a component: at once, when `inputs` change, and at intervals while the tab is visible. */
export function useLive<T>(
  read: (signal: AbortSignal) => Promise<T>,
  { everyMs, inputs = [], isEnabled = true }: LiveOptions = {},
): Live<T> {
  const state = useSignal<{ data?: T; error?: ApiError; isLoading: boolean }>({ isLoading: isEnabled });
  const reader = useRef(read);
  reader.current = read;
  const reload = useRef<() => Promise<void>>(async () => {});
  useEffect(() => {
    if (!isEnabled) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let reading: Promise<void> | undefined;
    const readOnce = async (): Promise<void> => {
      clearTimeout(timer);
      state.value = { ...state.value, isLoading: true };
      try {
        const data = await reader.current(stop.signal);
        if (!stop.signal.aborted) state.value = { data, isLoading: false };
      } catch (error) {
        if (!stop.signal.aborted) state.value = { ...state.value, error: toShown(error), isLoading: false };
      }
      // What does not exist is not asked for again.
      const isMissing = state.value.error?.status === 404 && state.value.data === undefined;
      if (everyMs !== undefined && !stop.signal.aborted && !isMissing) timer = setTimeout(tick, Math.max(everyMs, intervalMsMin));
    };
    const run = (): Promise<void> => (reading ??= readOnce().finally(() => (reading = undefined)));
    const tick = (): void => {
      if (document.visibilityState === 'visible') void run();
    };
    reload.current = async () => {
      // What is being read may be older than what the caller has changed.
      await reading;
      if (!stop.signal.aborted) await run();
    };
    if (everyMs !== undefined) document.addEventListener('visibilitychange', tick, { signal: stop.signal });
    void run();
    return () => {
      clearTimeout(timer);
      stop.abort();
      state.value = { isLoading: isEnabled };
    };
  }, [isEnabled, everyMs, ...inputs]);
  const { data, error, isLoading } = state.value;
  return { data, error, isLoading, reload: () => reload.current() };
}

/** Follows a session's events until it ends, and stays silent about why it cannot. Calls back in order, once for each event. */
export async function followEvents(
  sessionId: string,
  { onEvent, signal }: { onEvent: (event: SessionEventResponse) => void; signal: AbortSignal },
): Promise<void> {
  try {
    for await (const event of eventsOf(sessionId, signal)) onEvent(event);
  } catch {
    // The session is over, the credential is no good, or the page was left: what else the page reads says so.
  }
}

/** Whether the tab is shown, for what should rest in a hidden one. */
export function useVisibility(): ReadonlySignal<boolean> {
  const isVisible = useSignal(document.visibilityState === 'visible');
  useEffect(() => {
    const update = () => (isVisible.value = document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  return isVisible;
}
