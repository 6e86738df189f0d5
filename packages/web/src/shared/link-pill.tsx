import { Countdown } from './countdown.tsx';
import type { LinkState } from './link.ts';

const names: Readonly<Record<LinkState['is'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Connecting again',
  over: 'Ended',
};

/** Whether what is shown is what happens now. */
export const LinkPill = ({ state }: { state: LinkState }) => (
  <span class={`pill pill-${state.is}`}>
    <span class="pill-dot" aria-hidden="true" />
    <span role="status">{names[state.is]}</span>
    {state.is === 'lost' && <Countdown toMs={state.againAtMs} />}
  </span>
);
