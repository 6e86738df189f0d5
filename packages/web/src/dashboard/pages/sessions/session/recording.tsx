import type { RecordingResponse, SessionResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { RecordingCard } from '../../recordings/card.tsx';

export function SessionRecording({ session }: { session: SessionResponse }) {
  const params = { session_id: session.session_id };
  const live = useLive<RecordingResponse[]>((signal) => call('listRecordings', { params, signal }), { everyMs: 5000 });
  return (
    <Loaded live={live} loading="Loading the recording">
      {(recordings) =>
        recordings.length === 0 ? (
          <Empty icon="play" title="This session is not recorded">
            <p>Create a session with “Record” to get a video, a timeline, the console and the network traffic.</p>
          </Empty>
        ) : (
          recordings.map((recording) => <RecordingCard key={recording.rec_id} recording={recording} />)
        )
      }
    </Loaded>
  );
}
