import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { openLiveView } from '../../../../shared/link/live-view-access.ts';
import { toShown, type ApiError } from '../../../api-error.ts';
import { getLiveViewCookie } from '../../../sign-in/live-view-cookie.ts';
import type { PageProps } from '../../../page-entry.ts';
import { ErrorNote, Loading } from '../../../ui/states.tsx';

/** Leads to the live view of a session, where its bare address was opened without a sign-in. */
export default function Live({ params }: PageProps) {
  const { session_id: sessionId = '' } = params;
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    error.value = null;
    getLiveViewCookie(sessionId).then(
      () => openLiveView(sessionId),
      (failure: unknown) => (error.value = toShown(failure)),
    );
  }, [sessionId, attempt.value]);
  return (
    <div class="page">
      <h1>Live view</h1>
      {error.value ? <ErrorNote error={error.value} onRetry={() => (attempt.value += 1)} /> : <Loading label="Opening the live view" />}
    </div>
  );
}
