import type { LiveTabFailure } from '@berth/contract/live-view';
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
  const failure = state.status === 'live' ? view.activeTab.value?.failure : null;
  if (failure && view.activeTab.value?.status !== 'loading') return <FailureNotice view={view} failure={failure} />;
  return view.pageSize.value === null ? (
    <div class="notice notice-quiet">
      <span class="spinner spinner-large" aria-hidden="true" />
      <p>{state.status === 'live' ? 'Waiting for the first frame' : 'Connecting to the session'}</p>
    </div>
  ) : null;
}

const failures: Readonly<Record<LiveTabFailure, readonly [title: string, text: string]>> = {
  blocked_by_policy: [
    'This address is not allowed',
    'The session can open public addresses only, and its owner may allow only some of them.',
  ],
  dns_failed: ['This site cannot be found', 'Its name does not exist or cannot be resolved. Check the address.'],
  connection_refused: ['This site refused the connection', 'It may be down, or the address has a wrong port.'],
  connection_reset: ['This site closed the connection', 'Try again in a moment.'],
  timeout: ['This site does not respond', 'Try again in a moment.'],
  proxy_error: ['The session’s proxy failed', 'Its proxy did not reach the site. Try again, or ask the owner of the session.'],
  unknown: ['This page could not be loaded', 'Try again, or check the address.'],
};

/** Notice in place of the browser's error page, which cannot know what this service refuses. */
function FailureNotice({ view, failure }: { view: LiveView; failure: LiveTabFailure }) {
  const [title, text] = failures[failure];
  const go = (to: 'back' | 'reload') => view.send({ type: 'navigate', to });
  return (
    <Notice title={title} text={text}>
      {view.canControl.value && (
        <>
          <button type="button" class="button button-main" onClick={() => go('reload')}>
            Try again
          </button>
          {view.state.value?.history.back === true && (
            <button type="button" class="button" onClick={() => go('back')}>
              Go back
            </button>
          )}
        </>
      )}
    </Notice>
  );
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
