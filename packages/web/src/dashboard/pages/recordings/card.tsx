import type { RecordingResponse } from '@berth/contract';
import { call } from '../../api.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Icon } from '../../ui/icons.tsx';
import { openLink } from '../../ui/values/open-link.ts';
import { saveFile } from '../../ui/values/save-file.ts';
import { dateTimeText, durationText, sizeText, wordsOf } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toastError } from '../../ui/toasts.ts';
import { Poster } from './poster.tsx';
import './recordings.css';

const tones: Record<RecordingResponse['status'], Tone> = { recording: 'accent', complete: 'good', incomplete: 'warn', failed: 'bad' };

/** Opens the player in a new tab, by a link that only it uses. */
export const openPlayer = (sessionId: string): Promise<void> =>
  openLink(async () => {
    const { url } = await call('createViewToken', { params: { session_id: sessionId }, body: { scope: 'recording', ttl_seconds: 60 } });
    return url;
  });

export const RecordingBadge = ({ status }: { status: RecordingResponse['status'] }) => (
  <Badge tone={tones[status]}>{wordsOf(status)}</Badge>
);

/** A recording with its first picture, its figures and its files. */
export function RecordingCard({ recording }: { recording: RecordingResponse }) {
  const { session_id: sessionId, rec_id: recId, status, assets } = recording;
  const save = async (name: string): Promise<void> => {
    const params = { session_id: sessionId, rec_id: recId, asset_path: name };
    const file: unknown = await call('readRecordingAsset', { params });
    saveFile(file as Blob, `${sessionId}-${name}`);
  };
  return (
    <div class="panel recording-card">
      <Poster sessionId={sessionId} recId={assets.includes('poster.jpg') ? recId : null} />
      <dl class="stats">
        <div>
          <dt>Status</dt>
          <dd>
            <RecordingBadge status={status} />
          </dd>
        </div>
        <div>
          <dt>Started</dt>
          <dd>{dateTimeText(recording.started_at)}</dd>
        </div>
        <div>
          <dt>Duration</dt>
          <dd>{durationText(recording.duration_ms)}</dd>
        </div>
        <div>
          <dt>Size</dt>
          <dd>{sizeText(recording.size_bytes)}</dd>
        </div>
        <div>
          <dt>Is deleted</dt>
          <dd>{recording.expires_at ? <Time at={recording.expires_at} /> : 'After the session has ended'}</dd>
        </div>
      </dl>
      <div class="row">
        <button
          type="button"
          class="button button-main"
          disabled={status === 'failed'}
          onClick={() => void openPlayer(sessionId).catch(toastError)}
        >
          <Icon name="play" />
          Open the player
        </button>
        {['video.mp4', 'events.ndjson', 'har.json']
          .filter((name) => assets.includes(name))
          .map((name) => (
            <button key={name} type="button" class="button" onClick={() => void save(name).catch(toastError)}>
              <Icon name="download" />
              {name}
            </button>
          ))}
      </div>
      {recording.truncated && <p class="hint">The recording reached its largest size before the session ended.</p>}
    </div>
  );
}
