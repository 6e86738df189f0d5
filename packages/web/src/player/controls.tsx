import { FullScreenButton } from '../shared/full-screen.tsx';
import { Icon, type IconName } from '../shared/icons.tsx';
import { clockText } from './duration.ts';
import type { Player } from './player.ts';
import { SeekBar } from './timeline/seek-bar.tsx';
import { rates, type Rate } from './shortcuts.ts';

const skipMs = 5000;

export function Controls({ player }: { player: Player }) {
  const isPlaying = player.isPlaying.value;
  const hasVideo = player.footage.value !== null;
  return (
    <div class="controls" role="group" aria-label="Video controls">
      <SeekBar player={player} />
      <div class="controls-row">
        <ControlButton
          icon={isPlaying ? 'pause' : 'play'}
          label={isPlaying ? 'Pause' : 'Play'}
          disabled={!hasVideo}
          onClick={() => player.toggle()}
        />
        <ControlButton
          icon="rewind"
          label="Back 5 seconds"
          disabled={!hasVideo}
          onClick={() => player.seek(player.timeMs.value - skipMs)}
        />
        <ControlButton
          icon="advance"
          label="Forward 5 seconds"
          disabled={!hasVideo}
          onClick={() => player.seek(player.timeMs.value + skipMs)}
        />
        <Times player={player} />
        <span class="controls-space" />
        {player.isGrowing.value && hasVideo && (
          <button type="button" class="button edge" disabled={player.isAtEdge.value} onClick={() => player.goToEdge()}>
            {player.isAtEdge.value ? 'At the live edge' : 'Go to live edge'}
          </button>
        )}
        <RateSelect player={player} />
        <FullScreenButton onToggle={() => player.onFullScreen()} />
      </div>
    </div>
  );
}

interface ControlButtonProps {
  icon: IconName;
  label: string;
  disabled: boolean;
  onClick: () => void;
}

const ControlButton = ({ icon, label, disabled, onClick }: ControlButtonProps) => (
  <button type="button" class="icon-button" aria-label={label} title={label} disabled={disabled} onClick={onClick}>
    <Icon name={icon} />
  </button>
);

const Times = ({ player }: { player: Player }) => (
  <span class="times">
    {clockText(player.timeMs.value)} <span class="muted">/ {clockText(player.durationMs.value)}</span>
  </span>
);

const RateSelect = ({ player }: { player: Player }) => (
  <select
    class="rate"
    aria-label="Speed"
    value={player.rate.value}
    onChange={(event) => player.setRate(Number(event.currentTarget.value) as Rate)}
  >
    {rates.map((rate) => (
      <option key={rate} value={rate}>
        {rate}×
      </option>
    ))}
  </select>
);
