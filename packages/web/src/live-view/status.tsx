import { Icon } from '../shared/icons.tsx';
import { LinkPill } from '../shared/link-pill.tsx';
import type { LiveView } from './live-view.ts';

/** Whether what is shown is what happens now, and who sees it. */
export function Status({ view }: { view: LiveView }) {
  const state = view.link.state.value;
  const viewers = view.viewers.value;
  const told = viewers === 1 ? '1 person watches' : `${viewers} people watch`;
  return (
    <div class="status">
      {state.is === 'live' && viewers > 0 && (
        <span class="viewers" title={told}>
          <Icon name="people" />
          <span aria-hidden="true">{viewers}</span>
          <span class="visually-hidden">{told}</span>
        </span>
      )}
      <LinkPill state={state} />
    </div>
  );
}
