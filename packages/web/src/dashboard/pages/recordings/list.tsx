import type { RecordingResponse, SessionResponse } from '@berth/contract';
import { useEffect, useRef } from 'preact/hooks';
import { call, callPage, type Page } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { Empty } from '../../ui/states.tsx';
import { List, type Column } from '../../ui/table.tsx';
import { durationText, sizeText } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toastError } from '../../ui/toasts.ts';
import { useQuery } from '../../query.ts';
import { SessionPlayer } from '../sessions/session/ended.tsx';
import { useMore } from '../../use-more.ts';
import '../sessions/sessions.css';
import { RecordingBadge, openPlayer } from './card.tsx';
import { Poster } from './poster.tsx';

/** Sessions of a page: the service lists recordings by session. */
const sessionsMax = 100;
/** Pages of sessions that are searched at once until one has a recording. */
const pagesMax = 5;
/** Requests at once. */
const readersMax = 4;

interface Row {
  session: SessionResponse;
  recording: RecordingResponse;
}

export default function Recordings() {
  const { live, rows, onMore } = useMore(readRows);
  const { values, set } = useQuery({ play: 'text' });
  const shown = rows.find(({ session }) => session.session_id === values.play);
  return (
    <div class="page">
      <div class="page-head">
        <h1>Recordings</h1>
        <button type="button" class="button" disabled={live.isLoading} onClick={() => void live.reload()}>
          {live.isLoading ? 'Loading' : 'Read again'}
        </button>
      </div>
      {shown && <Playing key={shown.recording.rec_id} row={shown} onClose={() => set({ play: '' })} />}
      <List
        live={live}
        rows={live.data && rows}
        caption="Recordings"
        name="main"
        columns={columnsOf((sessionId) => set({ play: sessionId }))}
        keyOf={({ recording }) => recording.rec_id}
        onMore={onMore}
        empty={onMore ? <Empty icon="play" title="The newest sessions have no recordings" /> : none}
      />
    </div>
  );
}

/** The recording that was chosen, above the list: its address can be linked to. */
function Playing({ row: { session, recording }, onClose }: { row: Row; onClose: () => void }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus(), []);
  const name = session.name ?? session.session_id;
  return (
    <section class="page-part recording-playing" ref={panel} tabIndex={-1} aria-label={`Recording of ${name}`}>
      <div class="page-head">
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <div class="page-actions">
          <a class="button" href={hrefOf(`/sessions/${session.session_id}`)}>
            Session
          </a>
          <button type="button" class="button" onClick={() => void openPlayer(session.session_id).catch(toastError)}>
            Open in a tab
          </button>
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
      <SessionPlayer sessionId={session.session_id} recId={recording.rec_id} />
    </section>
  );
}

const none = (
  <Empty icon="play" title="No recordings yet">
    <p>A session that is created with “Record” leaves a video with its timeline, console and network traffic.</p>
    <a class="button button-main" href={hrefOf('/sessions/new')}>
      Create a session
    </a>
  </Empty>
);

/** The recordings of the next sessions, at least one if there is any within a few pages. */
async function readRows(cursor: string | undefined, signal: AbortSignal): Promise<Page<readonly Row[]>> {
  let next = cursor;
  for (let pages = 1; ; pages += 1) {
    const { items, nextCursor } = await callPage('listSessions', { query: { limit: sessionsMax, cursor: next }, signal });
    const rows = await readRecordings(items, signal);
    if (rows.length > 0 || nextCursor === null || pages === pagesMax) return { items: rows, nextCursor };
    next = nextCursor;
  }
}

async function readRecordings(sessions: readonly SessionResponse[], signal: AbortSignal): Promise<readonly Row[]> {
  const recorded = sessions.filter(({ recording }) => recording.rec_id !== null);
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

const columnsOf = (onPlay: (sessionId: string) => void): readonly Column<Row>[] => [
  {
    title: 'Picture',
    cell: ({ recording: { session_id: sessionId, rec_id: recId, assets } }) => (
      <Poster sessionId={sessionId} recId={assets.includes('poster.jpg') ? recId : null} />
    ),
    isMinor: true,
  },
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
        onClick={() => onPlay(session.session_id)}
      >
        Play
      </button>
    ),
  },
];
