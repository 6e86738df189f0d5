import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LinkState } from './link.ts';

const labels: Readonly<Record<LinkState['status'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  ended: 'Ended',
};

/** State of the connection. */
export const LinkPill = ({ state }: { state: LinkState }) => (
  <span class={`pill pill-${state.status}`}>
    <span class="pill-dot" aria-hidden="true" />
    <span role="status">{(state.status === 'ended' && state.ending.label) || labels[state.status]}</span>
    {state.status === 'reconnecting' && <Countdown toMs={state.retryAtMs} />}
  </span>
);

const secondMs = 1000;

/** Seconds until a time. Hidden from screen readers, which would announce every second. */
function Countdown({ toMs }: { toMs: number }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), secondMs / 4);
    return () => clearInterval(timer);
  }, [toMs]);
  return <span aria-hidden="true">{Math.max(0, Math.ceil((toMs - now.value) / secondMs))} s</span>;
}
