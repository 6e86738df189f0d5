/** Data that changes: by server-sent events where the API has them, else read again at intervals. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { SessionEventResponse } from '@berth/contract';
import { createParser } from 'eventsource-parser';
import { useEffect, useRef } from 'preact/hooks';
import { BackOff } from '../shared/link/back-off.ts';
import { toShown, type ApiError } from './api-error.ts';
import { send } from './api.ts';

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

/** Follows a session's events from its beginning until it ends, over reconnects. Calls back in order, once for each event. */
export async function followEvents(
  sessionId: string,
  { onEvent, signal }: { onEvent: (event: SessionEventResponse) => void; signal: AbortSignal },
): Promise<void> {
  const backOff = new BackOff();
  let lastId = '0';
  let hasEnded = false;
  const parser = createParser({
    onEvent: ({ id, data }) => {
      if (id !== undefined) lastId = id;
      const event = JSON.parse(data) as SessionEventResponse;
      if (event.type === 'session.ended') hasEnded = true;
      onEvent(event);
    },
  });
  // oxlint-disable-next-line no-unmodified-loop-condition -- the parser calls back
  while (!signal.aborted && !hasEnded) {
    try {
      await readStream(sessionId, { lastId, signal, onText: (text) => parser.feed(text), onOpen: () => backOff.reset() });
    } catch (error) {
      const { status } = toShown(error);
      // The session is over, or the credential is no good.
      if (status >= 400 && status < 500 && status !== 429) return;
    }
    parser.reset();
    if (!signal.aborted && !hasEnded) await delay(backOff.next(), signal);
  }
}

interface StreamOptions {
  lastId: string;
  signal: AbortSignal;
  onOpen: () => void;
  onText: (text: string) => void;
}

async function readStream(sessionId: string, { lastId, signal, onOpen, onText }: StreamOptions): Promise<void> {
  const response = await send('streamEvents', { params: { session_id: sessionId }, headers: { 'last-event-id': lastId }, signal });
  onOpen();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) onText(part.value);
}

const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

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
