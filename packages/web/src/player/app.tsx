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
import { Timeline } from './timeline.tsx';

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
  if (player.fault.value === 'denied' || player.footage.value?.fault.value === 'denied') {
    return <Notice title="This link is no longer valid" text="It has expired or was taken back. Ask whoever sent it for a new one." />;
  }
  if (player.fault.value === 'missing') {
    return <Notice title="This recording is gone" text="It has been deleted, or there was never one of this name." />;
  }
  if (!player.recording.value) {
    return (
      <div class="notice notice-quiet">
        <span class="spinner spinner-large" aria-hidden="true" />
        <p role="status">{player.fault.value ? 'The service cannot be reached. Trying again.' : 'Opening the recording'}</p>
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
          <p class="muted head-facts">
            <span>{new Date(recording.started_at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}</span>
            <span>{clockText(player.durationMs.value)}</span>
            <span class="head-id">{recording.session_id}</span>
          </p>
        )}
      </div>
      {player.isGrowing.value && (
        <span class={`pill ${player.fault.value ? 'pill-lost' : 'pill-recording'}`}>
          <span class="pill-dot" aria-hidden="true" />
          <span role="status">{player.fault.value ? 'Not updating' : 'Recording'}</span>
        </span>
      )}
      {recording && recording.assets.length > 0 && <PopoverButton opens={filesPanelId} label="Files" icon="download" />}
      <PopoverButton opens={helpPanelId} label="Help" icon="help" />
    </header>
  );
}

/** What a person should know before they wonder why it stops. */
function Banner({ player }: { player: Player }) {
  const recording = player.recording.value;
  if (recording?.status === 'incomplete') {
    return (
      <p class="banner" role="note">
        <strong>Incomplete.</strong> The recording was cut off: what there is can be played, its end is missing.
      </p>
    );
  }
  if (!recording?.truncated) return null;
  return (
    <p class="banner" role="note">
      <strong>Cut short.</strong> The recording had grown to its limit; the session went on.
    </p>
  );
}

/** Keys work wherever the focus is, save where they mean something else. */
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
