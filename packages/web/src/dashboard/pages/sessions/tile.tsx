import { useSignal } from '@preact/signals';
import type { SessionResponse } from '@berth/contract';
import { useEffect, useRef } from 'preact/hooks';
import { hrefOf } from '../../href.ts';
import { useVisibility } from '../../live.ts';
import { Badge } from '../../ui/badge.tsx';
import { Icon } from '../../ui/icons.tsx';
import type { Selection } from '../../ui/selection.tsx';
import { Time } from '../../ui/values/time.tsx';
import { SessionBadge, TimeLeft, isLive, nameOf } from './session-state.tsx';
import { Thumbnail } from './thumbnail.ts';

interface TileProps {
  session: SessionResponse;
  /** Shows a box to choose the session with. */
  selection?: Selection;
}

/** A session on the wall: its picture, while it is on the screen, and what it shows. */
export function Tile({ session, selection }: TileProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const hasPicture = useSignal(false);
  const isOnScreen = useSignal(false);
  const isVisible = useVisibility();
  const isWatched = session.status === 'ready' && isOnScreen.value && isVisible.value;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => (isOnScreen.value = entry?.isIntersecting ?? false));
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (!isWatched || !element) return;
    const onFirst = () => (hasPicture.value = true);
    const thumbnail = new Thumbnail({ sessionId: session.session_id, canvas: element, width: element.clientWidth, onFirst });
    return () => thumbnail.close();
  }, [isWatched]);
  const { session_id: id, title, current_url: url } = session;
  return (
    <li class="tile">
      {selection && isLive(session) && (
        <input
          type="checkbox"
          class="tile-choice"
          aria-label={`Choose ${nameOf(session)}`}
          checked={selection.ids.has(id)}
          onChange={(event) => selection.set([id], event.currentTarget.checked)}
        />
      )}
      <a href={hrefOf(`/sessions/${session.session_id}`)} class="tile-link">
        <span class="tile-picture">
          <canvas ref={canvas} data-shown={hasPicture.value} aria-hidden="true" />
          {!hasPicture.value && <Icon name="window" />}
        </span>
        <bdi class="tile-name">{nameOf(session)}</bdi>
      </a>
      <span class="tile-page muted">
        <bdi>{title || url || 'No page yet'}</bdi>
      </span>
      <span class="tile-foot">
        <SessionBadge session={session} />
        {session.recording.enabled && <Badge tone="accent">Recorded</Badge>}
        {session.kind === 'full_browser' && <Badge>Full browser</Badge>}
        <span class="muted">
          {isLive(session) ? <TimeLeft session={session} /> : session.ended_at !== null && <Time at={session.ended_at} />}
        </span>
      </span>
    </li>
  );
}
