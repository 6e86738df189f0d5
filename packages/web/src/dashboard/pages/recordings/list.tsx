import type { RecordingResponse, SessionResponse } from '@berth/contract';
import { call, callPage } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { durationText, sizeText } from '../../ui/texts.ts';
import { Time } from '../../ui/time.tsx';
import { toastError } from '../../ui/toasts.ts';
import { Poster, RecordingBadge, openPlayer } from './card.tsx';

/** Sessions whose recordings are listed: the service lists recordings by session. */
const sessionsMax = 100;
/** Requests at once. */
const readersMax = 4;

interface Row {
  session: SessionResponse;
  recording: RecordingResponse;
}

export default function Recordings() {
  const live = useLive(readRows);
  return (
    <div class="page">
      <div class="page-head">
        <h1>Recordings</h1>
        <button type="button" class="button" disabled={live.isLoading} onClick={() => void live.reload()}>
          {live.isLoading ? 'Loading' : 'Read again'}
        </button>
      </div>
      <Loaded live={live} loading="Loading recordings">
        {(rows) => (
          <Table
            caption="Recordings"
            columns={columns}
            rows={rows}
            keyOf={({ recording }) => recording.rec_id}
            hasFilter={rows.length > 0}
            empty={
              <Empty icon="play" title="No recordings yet">
                <p>A session that is created with “Record” leaves a video with its timeline, console and network traffic.</p>
                <a class="button button-main" href={hrefOf('/sessions/new')}>
                  Create a session
                </a>
              </Empty>
            }
          />
        )}
      </Loaded>
    </div>
  );
}

async function readRows(signal: AbortSignal): Promise<readonly Row[]> {
  const { items } = await callPage('listSessions', { query: { limit: sessionsMax }, signal });
  const recorded = items.filter(({ recording }) => recording.rec_id !== null);
  const rows = new Map<string, Row>();
  const queue = [...recorded];
  const read = async (): Promise<void> => {
    for (let session = queue.shift(); session; session = queue.shift()) {
      const [recording] = await call('listRecordings', { params: { session_id: session.session_id }, signal });
      if (recording) rows.set(session.session_id, { session, recording });
    }
  };
  await Promise.all(Array.from({ length: readersMax }, read));
  return recorded.flatMap(({ session_id: id }) => rows.get(id) ?? []);
}

const columns: readonly Column<Row>[] = [
  { title: 'Picture', cell: ({ recording }) => <Poster recording={recording} />, isMinor: true },
  {
    title: 'Session',
    cell: ({ session }) => (
      <a href={hrefOf(`/sessions/${session.session_id}`)}>
        <bdi>{session.name ?? session.session_id}</bdi>
      </a>
    ),
    text: ({ session }) => `${session.name ?? ''} ${session.session_id}`,
  },
  {
    title: 'Last page',
    cell: ({ session }) => <bdi>{session.title || session.current_url}</bdi>,
    text: ({ session }) => `${session.title ?? ''} ${session.current_url ?? ''}`,
    isMinor: true,
  },
  { title: 'Status', cell: ({ recording }) => <RecordingBadge status={recording.status} />, text: ({ recording }) => recording.status },
  {
    title: 'Duration',
    cell: ({ recording }) => durationText(recording.duration_ms),
    text: ({ recording }) => recording.duration_ms,
    isNumber: true,
  },
  {
    title: 'Size',
    cell: ({ recording }) => sizeText(recording.size_bytes),
    text: ({ recording }) => recording.size_bytes,
    isNumber: true,
    isMinor: true,
  },
  {
    title: 'Started',
    cell: ({ recording }) => <Time at={recording.started_at} />,
    text: ({ recording }) => recording.started_at,
    isMinor: true,
  },
  {
    title: 'Open',
    cell: ({ session, recording }) => (
      <button
        type="button"
        class="button"
        disabled={recording.status === 'failed'}
        aria-label={`Play the recording of ${session.name ?? session.session_id}`}
        onClick={() => void openPlayer(session.session_id).catch(toastError)}
      >
        Play
      </button>
    ),
  },
];
