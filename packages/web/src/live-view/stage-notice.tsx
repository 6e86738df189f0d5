import { Notice } from '../shared/notice.tsx';
import type { LiveView } from './live-view.ts';

/** Explains why the frame is missing or stale. */
export function StageNotice({ view }: { view: LiveView }) {
  const state = view.link.state.value;
  if (state.status === 'ended') {
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
  if (state.status === 'reconnecting') return <StaleNotice view={view} />;
  if (state.status === 'live' && view.activeTab.value?.status === 'crashed') {
    return (
      <Notice title="This page crashed" text="Reload the page, or select another tab.">
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
      <p>{state.status === 'live' ? 'Waiting for the first frame' : 'Connecting to the session'}</p>
    </div>
  ) : null;
}

/** Shows the age of the last frame while disconnected. */
function StaleNotice({ view }: { view: LiveView }) {
  const drawnAtMs = view.drawnAtMs.value;
  return (
    <div class="stale">
      <p>
        {drawnAtMs > 0
          ? `Not live. Last frame at ${new Date(drawnAtMs).toLocaleTimeString()}.`
          : 'The session cannot be reached. Reconnecting automatically.'}
      </p>
      <button type="button" class="button" onClick={() => view.link.reconnectNow()}>
        Reconnect now
      </button>
    </div>
  );
}
