import { Icon } from '../shared/icons.tsx';
import { LinkPill } from '../shared/link-pill.tsx';
import type { LiveView } from './live-view.ts';

/** Connection state and number of viewers. */
export function Status({ view }: { view: LiveView }) {
  const state = view.link.state.value;
  const viewers = view.viewers.value;
  const label = viewers === 1 ? '1 viewer' : `${viewers} viewers`;
  return (
    <div class="status">
      {state.status === 'live' && viewers > 0 && (
        <span class="viewers" title={label}>
          <Icon name="people" />
          <span aria-hidden="true">{viewers}</span>
          <span class="visually-hidden">{label}</span>
        </span>
      )}
      <LinkPill state={state} />
    </div>
  );
}
