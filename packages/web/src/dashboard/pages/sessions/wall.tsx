import { useSignal } from '@preact/signals';
import type { SessionResponse } from '@berth/contract';
import { callPage } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { Icon } from '../../ui/icons.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { durationText } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { usePages, type Pages } from '../../use-pages.ts';
import { SessionBadge, nameOf } from './session-state.tsx';
import { Tile } from './tile.tsx';
import './sessions.css';

/** Tiles with pictures at once. Each is a viewer. */
const tilesMax = 24;
const pageSize = 100;
const refreshMs = 5000;

export default function Wall() {
  const live = useLive((signal) => callPage('listSessions', { query: { status: 'starting,ready,ending', limit: pageSize }, signal }), {
    everyMs: refreshMs,
  });
  const ended = usePages<SessionResponse>(
    ({ cursor, signal }) => callPage('listSessions', { query: { status: 'ended,failed', limit: pageSize, cursor }, signal }),
    { everyMs: refreshMs },
  );
  return (
    <div class="page">
      <div class="page-head">
        <h1>Sessions</h1>
        <CreateLink />
      </div>
      <Loaded live={live} loading="Loading sessions">
        {({ items, nextCursor }) => (
          <>
            <Running sessions={items} hasMore={nextCursor !== null} />
            <Ended {...ended} />
          </>
        )}
      </Loaded>
    </div>
  );
}

const CreateLink = () => (
  <a class="button button-main" href={hrefOf('/sessions/new')}>
    <Icon name="plus" />
    Create a session
  </a>
);

function Running({ sessions, hasMore }: { sessions: readonly SessionResponse[]; hasMore: boolean }) {
  const filter = useSignal('');
  if (sessions.length === 0)
    return (
      <Empty icon="window" title="No session is running">
        <p>A session is a browser of its own that you watch here and drive with Playwright, Puppeteer or plain HTTP.</p>
        <CreateLink />
      </Empty>
    );
  const wanted = filter.value.trim().toLowerCase();
  const matches = sessions.filter((session) =>
    [nameOf(session), session.session_id, session.title, session.current_url].some((text) => text?.toLowerCase().includes(wanted)),
  );
  const shown = matches.slice(0, tilesMax);
  return (
    <section aria-label="Running sessions" class="page-part">
      {sessions.length > 6 && (
        <label class="search">
          <Icon name="search" />
          <span class="visually-hidden">Filter running sessions</span>
          <input type="search" placeholder="Filter" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} />
        </label>
      )}
      <ul class="wall">
        {shown.map((session) => (
          <Tile key={session.session_id} session={session} />
        ))}
      </ul>
      {(matches.length > shown.length || hasMore) && (
        <p class="muted">
          {shown.length} of {hasMore ? `more than ${matches.length}` : matches.length} sessions are shown. Filter for others.
        </p>
      )}
    </section>
  );
}

const columns: readonly Column<SessionResponse>[] = [
  {
    title: 'Session',
    cell: (session) => (
      <a href={hrefOf(`/sessions/${session.session_id}`)}>
        <bdi>{nameOf(session)}</bdi>
      </a>
    ),
    text: (session) => `${nameOf(session)} ${session.session_id}`,
  },
  { title: 'Status', cell: (session) => <SessionBadge session={session} />, text: ({ ended_reason: reason }) => reason },
  {
    title: 'Last page',
    cell: ({ title, current_url: url }) => <bdi>{title || url}</bdi>,
    text: ({ title, current_url: url }) => `${title ?? ''} ${url ?? ''}`,
    isMinor: true,
  },
  { title: 'Recording', cell: ({ recording }) => (recording.enabled ? 'Recorded' : <span class="muted">No</span>), isMinor: true },
  { title: 'Ran for', cell: (session) => durationText(lifetimeMs(session)), text: lifetimeMs, isNumber: true, isMinor: true },
  { title: 'Ended', cell: ({ ended_at: at }) => <Time at={at} />, text: ({ ended_at: at }) => at },
];

function lifetimeMs({ created_at: created, ended_at: ended }: SessionResponse): number {
  return Date.parse(ended ?? created) - Date.parse(created);
}

/** Errors are those of the running sessions above: both are one list of the service. */
const Ended = ({ live: { data = [] }, onMore }: Pages<SessionResponse>) =>
  data.length > 0 && (
    <section class="page-part" aria-labelledby="ended">
      <h2 id="ended">Ended</h2>
      <Table
        caption="Ended sessions"
        columns={columns}
        rows={data}
        keyOf={({ session_id: id }) => id}
        empty={null}
        rowsPerPage={10}
        onMore={onMore}
      />
    </section>
  );
