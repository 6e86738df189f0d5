import { useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Notice } from '../shared/notice.tsx';
import { PopoverButton } from '../shared/popover.tsx';
import { Controls } from './controls.tsx';
import { clockText } from './duration.ts';
import { FilesPanel, filesPanelId, HelpPanel, helpPanelId } from './panels.tsx';
import type { Player } from './player.ts';
import { Screen } from './screen.tsx';
import { shortcutOf } from './shortcuts.ts';
import { Timeline } from './timeline/timeline.tsx';

export function App({ player }: { player: Player }) {
  useKeys(player);
  useSignalEffect(() => {
    const recording = player.recording.value;
    document.title = recording ? `Recording of ${recording.session_id}` : 'Recording';
  });
  return (
    <div class="player">
      <Head player={player} />
      <main class="player-main">
        <Body player={player} />
      </main>
      <HelpPanel player={player} />
      <FilesPanel player={player} />
    </div>
  );
}

function Body({ player }: { player: Player }) {
  if (player.loadError.value === 'denied' || player.footage.value?.error.value === 'denied') {
    return <Notice title="This link is no longer valid" text="It has expired or was revoked. Ask the person who sent it for a new link." />;
  }
  if (player.loadError.value === 'missing') {
    return <Notice title="Recording not found" text="It has been deleted, or the link is wrong. Check the link." />;
  }
  if (!player.recording.value) {
    return (
      <div class="notice notice-quiet">
        <span class="spinner spinner-large" aria-hidden="true" />
        <p role="status">{player.loadError.value ? 'The service cannot be reached. Retrying.' : 'Loading the recording'}</p>
      </div>
    );
  }
  return (
    <>
      <section class="watch" aria-label="Video">
        <Banner player={player} />
        <Screen player={player} />
        <Controls player={player} />
      </section>
      <Timeline player={player} />
    </>
  );
}

function Head({ player }: { player: Player }) {
  const recording = player.recording.value;
  return (
    <header class="head">
      <div class="head-text">
        <h1>Recording</h1>
        {recording && (
          <p class="muted head-info">
            <span>{new Date(recording.started_at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}</span>
            <span>{clockText(player.durationMs.value)}</span>
            <span class="head-id">{recording.session_id}</span>
          </p>
        )}
      </div>
      {player.isGrowing.value && (
        <span class={`pill ${player.loadError.value ? 'pill-reconnecting' : 'pill-recording'}`}>
          <span class="pill-dot" aria-hidden="true" />
          <span role="status">{player.loadError.value ? 'Not updating' : 'Recording'}</span>
        </span>
      )}
      {recording && recording.assets.length > 0 && <PopoverButton opens={filesPanelId} label="Files" icon="download" />}
      <PopoverButton opens={helpPanelId} label="Help" icon="help" />
    </header>
  );
}

/** Explains why the recording ends early. */
function Banner({ player }: { player: Player }) {
  const recording = player.recording.value;
  if (recording?.status === 'incomplete') {
    return (
      <p class="banner" role="note">
        <strong>Incomplete.</strong> The recording was interrupted. It can be played, but its end is missing.
      </p>
    );
  }
  if (!recording?.truncated) return null;
  return (
    <p class="banner" role="note">
      <strong>Truncated.</strong> The recording reached its size limit. The session continued.
    </p>
  );
}

/** Shortcuts work everywhere except in elements that use the keys themselves. */
function useKeys(player: Player): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.defaultPrevented || !(target instanceof HTMLElement)) return;
      if (target.matches('select, textarea, input:not([type=range])')) return;
      if (event.key === ' ' && target.closest('button, a, summary, label')) return;
      const shortcut = shortcutOf(event, { withCharacters: player.withCharacters.value });
      if (!shortcut) return;
      event.preventDefault();
      player.do(shortcut);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [player]);
}
