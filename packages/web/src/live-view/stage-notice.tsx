import { Notice } from '../shared/notice.tsx';
import type { LiveView } from './live-view.ts';

/** What is said over the picture when it is not the whole truth. */
export function StageNotice({ view }: { view: LiveView }) {
  const state = view.link.state.value;
  if (state.is === 'over') {
    return (
      <Notice title={state.ending.title} text={state.ending.text}>
        {state.ending.canRetry && (
          <button type="button" class="button button-main" onClick={() => view.link.open()}>
            Try again
          </button>
        )}
      </Notice>
    );
  }
  if (state.is === 'lost') return <StaleNotice view={view} />;
  if (state.is === 'live' && view.activeTab.value?.status === 'crashed') {
    return (
      <Notice title="This page crashed" text="The rest of the session goes on.">
        {view.canControl.value && (
          <button type="button" class="button button-main" onClick={() => view.send({ type: 'navigate', to: 'reload' })}>
            Reload the page
          </button>
        )}
      </Notice>
    );
  }
  return view.pageSize.value === null ? (
    <div class="notice notice-quiet">
      <span class="spinner spinner-large" aria-hidden="true" />
      <p>{state.is === 'live' ? 'Waiting for the first picture' : 'Connecting to the session'}</p>
    </div>
  ) : null;
}

/** The picture stays, and says how old it is. */
function StaleNotice({ view }: { view: LiveView }) {
  const drawnAtMs = view.drawnAtMs.value;
  return (
    <div class="stale">
      <p>
        {drawnAtMs > 0
          ? `Not live. This is how it was at ${new Date(drawnAtMs).toLocaleTimeString()}.`
          : 'The session cannot be reached at the moment.'}
      </p>
      <button type="button" class="button" onClick={() => view.link.hurry()}>
        Connect now
      </button>
    </div>
  );
}
