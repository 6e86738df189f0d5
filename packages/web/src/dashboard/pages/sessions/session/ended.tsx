import { useSignal } from '@preact/signals';
import type { SessionResponse } from '@berth/contract';
import { useEffect } from 'preact/hooks';
import { toShown, type ApiError } from '../../../api-error.ts';
import { addressOf, call } from '../../../api.ts';
import { ErrorNote, Loading } from '../../../ui/states.tsx';
import { reasonText } from '../reasons.ts';

/** For the first request of the player, which has a cookie afterwards. */
const tokenSeconds = 60;

/** Why a session ended, in a sentence, and its recording in place. */
export function Ended({ session }: { session: SessionResponse }) {
  const { rec_id: recId, status } = session.recording;
  return (
    <>
      <p class="ended-reason" data-failed={session.status === 'failed'}>
        {reasonText(session.ended_reason)}
      </p>
      {recId !== null && status !== 'failed' && session.status !== 'ending' && (
        <SessionPlayer key={recId} sessionId={session.session_id} recId={recId} />
      )}
    </>
  );
}

/** The player as people open it by a link, with its timeline. Its address has a token for as long as the page loads. */
export function SessionPlayer({ sessionId, recId }: { sessionId: string; recId: string }) {
  const address = useSignal<string | null>(null);
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    const params = { session_id: sessionId };
    error.value = null;
    call('createViewToken', { params, body: { scope: 'recording', ttl_seconds: tokenSeconds }, signal: stop.signal }).then(
      ({ token }) => {
        const asset = { ...params, rec_id: recId, asset_path: 'index.html' };
        address.value = addressOf('readRecordingAsset', { params: asset, query: { token: token ?? undefined } });
      },
      (failure: unknown) => {
        if (!stop.signal.aborted) error.value = toShown(failure);
      },
    );
    return () => stop.abort();
  }, [attempt.value]);
  if (error.value) return <ErrorNote error={error.value} onRetry={() => (attempt.value += 1)} />;
  return (
    <div class="session-player">
      {address.value ? (
        <iframe src={address.value} title="Recording of the session" allow="fullscreen" />
      ) : (
        <Loading label="Opening the recording" />
      )}
    </div>
  );
}
