import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../../shared/icons.tsx';
import { LinkPill } from '../../shared/link/link-pill.tsx';
import { driversText, timeLeftText } from '../session-texts.ts';
import type { LiveView } from '../live-view.ts';

/**
 * The session: its name, the time that is left, who else drives it; the number of viewers and the connection.
 * A page that embeds the view names the session itself, and one's own viewing is no news there.
 */
export function Status({ view }: { view: LiveView }) {
  const link = view.link.state.value;
  const state = view.state.value;
  const viewers = state?.viewers ?? 0;
  const label = viewers === 1 ? '1 viewer' : `${viewers} viewers`;
  return (
    <div class="status">
      {link.status !== 'ended' && state && (
        <span class="session-info">
          {!view.isEmbedded && state.session.name !== null && <bdi class="session-name">{state.session.name}</bdi>}
          {!view.isEmbedded && <TimeLeft until={state.session.expires_at} />}
          <span class="drivers">{driversText(state.drivers, { isMeDriving: view.canControl.value })}</span>
        </span>
      )}
      {link.status === 'live' && viewers > (view.isEmbedded ? 1 : 0) && (
        <span class="viewers" title={label}>
          <Icon name="people" />
          <span aria-hidden="true">{viewers}</span>
          <span class="visually-hidden">{label}</span>
        </span>
      )}
      <LinkPill state={link} />
    </div>
  );
}

const tickMs = 1000;

function TimeLeft({ until }: { until: string }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), tickMs);
    return () => clearInterval(timer);
  }, []);
  const leftMs = Date.parse(until) - now.value;
  return (
    <span class="time-left" data-short={leftMs < 120_000} title={`The session ends at ${new Date(until).toLocaleTimeString()}.`}>
      {timeLeftText(leftMs)}
    </span>
  );
}
