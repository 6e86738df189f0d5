import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { socketAddress } from '../../../../shared/link/address.ts';
import { App } from '../../../../live-view/app.tsx';
import { LiveView } from '../../../../live-view/live-view.ts';
import { toShown, type ApiError } from '../../../api-error.ts';
import { getLiveViewCookie } from '../../../sign-in/live-view-cookie.ts';
import { ErrorNote, Loading } from '../../../ui/states.tsx';

/** The interactive live view, as a part of the page. It has a cookie of this session's live view, as behind a link. */
export function LiveFrame({ sessionId, onSkip }: { sessionId: string; onSkip: () => void }) {
  const view = useSignal<LiveView | null>(null);
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    void openView(sessionId, stop.signal)
      .then((opened) => {
        if (stop.signal.aborted) return opened.link.close();
        error.value = null;
        view.value = opened;
      })
      .catch((failure: unknown) => {
        if (!stop.signal.aborted) error.value = toShown(failure);
      });
    return () => {
      stop.abort();
      view.value?.link.close();
      view.value = null;
    };
  }, [sessionId, attempt.value]);
  return (
    <section class="session-view" aria-label="Live view">
      {view.value ? (
        <App view={view.value} onSkip={onSkip} />
      ) : error.value ? (
        <ErrorNote error={error.value} onRetry={() => (attempt.value += 1)} />
      ) : (
        <Loading label="Opening the live view" />
      )}
    </section>
  );
}

async function openView(sessionId: string, signal: AbortSignal): Promise<LiveView> {
  await getLiveViewCookie(sessionId, signal);
  const path = `/v1/session/${encodeURIComponent(sessionId)}/live-view`;
  const view = new LiveView({ socketUrl: socketAddress(location, `${path}/socket`), pageUrl: path, isEmbedded: true });
  view.link.open();
  return view;
}
