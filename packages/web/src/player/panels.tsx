import { KeyTable, Popover } from '../shared/popover.tsx';
import { sizeText } from './duration.ts';
import type { Player } from './player.ts';

export const helpPanelId = 'help';
export const filesPanelId = 'files';

const keys = [
  ['Space K', 'Play and pause'],
  ['← →', 'Five seconds back, forward'],
  ['J L', 'Ten seconds back, forward'],
  ['Home End', 'To the start, to the end'],
  ['< >', 'Slower, faster'],
  ['F', 'Full screen'],
  ['↑ ↓', 'Move along the timeline, when it has the focus'],
  ['Enter', 'Jump to that event'],
] as const;

export const HelpPanel = ({ player }: { player: Player }) => (
  <Popover id={helpPanelId} title="Keys">
    <KeyTable keys={keys} />
    <label class="check">
      <input
        type="checkbox"
        checked={player.withCharacters}
        onChange={(event) => (player.withCharacters.value = event.currentTarget.checked)}
      />
      Letters and signs are keys too
    </label>
  </Popover>
);

/** Parts of the video are of no use alone. */
const isWhole = (name: string): boolean => /^[a-z]+[.](json|ndjson|jpg|mjpeg)$/.test(name);

const descriptions: Readonly<Record<string, string>> = {
  'events.ndjson': 'The timeline, a JSON object in each line',
  'har.json': 'The network log (HAR)',
  'poster.jpg': 'A picture',
  'recording.json': 'What is known of the recording',
  'frames.mjpeg': 'All pictures',
  'frames.ndjson': 'Where each picture lies',
};

export function FilesPanel({ player }: { player: Player }) {
  const recording = player.recording.value;
  return (
    <Popover id={filesPanelId} title="Files">
      <ul class="files">
        {recording?.assets.filter(isWhole).map((name) => (
          <li key={name}>
            <a href={name} download={name}>
              {name}
            </a>
            <span class="muted">{descriptions[name]}</span>
          </li>
        ))}
      </ul>
      {recording && <p>In all {sizeText(recording.size_bytes)}.</p>}
    </Popover>
  );
}
