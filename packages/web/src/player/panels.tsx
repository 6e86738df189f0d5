import { KeyTable, Popover } from '../shared/popover.tsx';
import { sizeText } from '../shared/size-text.ts';
import type { Player } from './player.ts';

export const helpPanelId = 'help';
export const filesPanelId = 'files';

const keys = [
  ['Space K', 'Play and pause'],
  ['← →', 'Skip 5 seconds back, forward'],
  ['J L', 'Skip 10 seconds back, forward'],
  ['Home End', 'Go to the start, to the end'],
  ['< >', 'Slower, faster'],
  ['F', 'Full screen'],
  ['↑ ↓', 'Move in the timeline when it has the focus'],
  ['Enter', 'Go to the selected event'],
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
      Use letters and signs as shortcuts
    </label>
  </Popover>
);

/** Parts of the video are useless alone. */
const isDownloadable = (name: string): boolean => /^[a-z]+[.](json|ndjson|jpg|mjpeg)$/.test(name);

const descriptions: Readonly<Record<string, string>> = {
  'events.ndjson': 'Timeline, one JSON object per line',
  'har.json': 'Network log (HAR)',
  'poster.jpg': 'Poster',
  'recording.json': 'Description of the recording',
  'frames.mjpeg': 'All frames',
  'frames.ndjson': 'Index of the frames',
};

export function FilesPanel({ player }: { player: Player }) {
  const recording = player.recording.value;
  return (
    <Popover id={filesPanelId} title="Files">
      <ul class="files">
        {recording?.video === 'hls' && (
          <li>
            <a href="video.mp4" download={`${recording.session_id}.mp4`}>
              video.mp4
            </a>
            <span class="muted">The whole video, as one file</span>
          </li>
        )}
        {recording?.assets.filter(isDownloadable).map((name) => (
          <li key={name}>
            <a href={name} download={name}>
              {name}
            </a>
            <span class="muted">{descriptions[name]}</span>
          </li>
        ))}
      </ul>
      {recording && <p>Total size: {sizeText(recording.size_bytes)}.</p>}
    </Popover>
  );
}
