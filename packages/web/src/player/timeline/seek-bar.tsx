import { useComputed } from '@preact/signals';
import { clockText, spokenText } from '../duration.ts';
import type { Player } from '../player.ts';
import { createMarks } from './timeline.ts';

const secondMs = 1000;

/** Playback position, with markers for events. */
export function SeekBar({ player }: { player: Player }) {
  const durationMs = player.durationMs.value;
  // Whole seconds are enough for labels.
  const seconds = Math.floor(player.timeMs.value / secondMs);
  return (
    <div class="seek">
      <Marks player={player} />
      <input
        type="range"
        class="seek-bar"
        aria-label="Position in the video"
        aria-valuetext={`${spokenText(seconds * secondMs)} of ${spokenText(durationMs)}`}
        title={clockText(seconds * secondMs)}
        min={0}
        max={Math.max(1, Math.round(durationMs))}
        step={100}
        disabled={player.footage.value === null}
        value={Math.round(player.timeMs.value)}
        style={{ '--done': String(durationMs > 0 ? player.timeMs.value / durationMs : 0) }}
        onInput={(event) => player.seek(event.currentTarget.valueAsNumber)}
      />
    </div>
  );
}

/** A component of its own, as the bar is rendered ten times a second. */
function Marks({ player }: { player: Player }) {
  const marks = useComputed(() => createMarks(player.picked.value, player.durationMs.value));
  return (
    <div class="marks" aria-hidden="true">
      {marks.value.map(({ at, kind }) => (
        <span key={at} class={`mark mark-${kind}`} style={{ insetInlineStart: `${at * 100}%` }} />
      ))}
    </div>
  );
}
