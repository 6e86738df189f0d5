/** Sessions: pictures of those that run, and those that have ended, with one filter for both. */
import type { SessionResponse } from '@berth/contract';
import { call, callPage } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { useQuery } from '../../query.ts';
import { SelectField } from '../../ui/form/fields.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Search } from '../../ui/search.tsx';
import { BulkBar, useSelection, type Selection } from '../../ui/selection.tsx';
import { ShortId } from '../../ui/values/short-id.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { List, Table, type Column } from '../../ui/table.tsx';
import { durationText, wordsOf } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { usePages } from '../../use-pages.ts';
import { Poster } from '../recordings/poster.tsx';
import { SessionBadge, isLive, liveStatuses, nameOf, statusText } from './session-state.tsx';
import { Tile } from './tile.tsx';
import './sessions.css';

/** Tiles with pictures at once. Each is a viewer. */
const tilesMax = 24;
const pageSize = 100;
const refreshMs = 5000;

const shows = [
  { value: '', label: 'All' },
  { value: 'running', label: 'Running' },
  { value: 'ended', label: 'Ended' },
  { value: 'failed', label: 'Failed' },
];
const kinds = [
  { value: '', label: 'All kinds' },
  { value: 'headless', label: 'Headless' },
  { value: 'full_browser', label: 'Full browser' },
];
const views = [
  { value: '', label: 'Pictures' },
  { value: 'list', label: 'List' },
];

export default function Wall() {
  const { values, set } = useQuery({ q: 'text', show: shows, kind: kinds, view: views });
  const { q = '', show, kind, view } = values;
  const selection = useSelection();
  const hasRunning = show === undefined || show === 'running';
  const running = useLive((signal) => callPage('listSessions', { query: { status: liveStatuses, limit: pageSize }, signal }), {
    everyMs: refreshMs,
    isEnabled: hasRunning,
  });
  const ended = usePages<SessionResponse>(
    ({ cursor, signal }) =>
      callPage('listSessions', {
        query: { status: show === 'failed' ? 'failed' : 'ending,ended,failed', limit: pageSize, cursor },
        signal,
      }),
    { everyMs: refreshMs, inputs: [show === 'failed'] },
  );
  const matches = (session: SessionResponse): boolean => isMatch(session, q) && (kind === undefined || session.kind === kind);
  const runs = running.data?.items.filter(matches);
  const isFiltered = q !== '' || kind !== undefined;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Sessions</h1>
        <CreateLink />
      </div>
      <div class="filter-fields">
        <Search caption="sessions" value={q} onInput={(text) => set({ q: text })} />
        <SelectField label="Show" value={show ?? ''} options={shows} onInput={(value) => set({ show: value })} />
        <SelectField label="Kind" value={kind ?? ''} options={kinds} onInput={(value) => set({ kind: value })} />
        {hasRunning && <SelectField label="Running ones as" value={view ?? ''} options={views} onInput={(value) => set({ view: value })} />}
      </div>
      {hasRunning && (
        <section class="page-part" aria-labelledby="running">
          <h2 id="running">Running</h2>
          <BulkBar
            selection={selection}
            possible={(runs ?? []).filter(isLive).map(({ session_id: id }) => id)}
            nouns={['session', 'sessions']}
            verbs={['End', 'ended']}
            text="Their browsers are closed, and what is open in them is lost. Recordings remain."
            act={(id) => call('endSession', { params: { session_id: id } })}
            onDone={async () => void (await Promise.all([running.reload(), ended.live.reload()]))}
          />
          <Loaded live={running} skeleton={<TileSkeletons />}>
            {({ nextCursor }) =>
              !runs || runs.length === 0 ? (
                <NoneRuns isFiltered={isFiltered} />
              ) : view === 'list' ? (
                <Table
                  caption="Running sessions"
                  name="running"
                  hasFilter={false}
                  columns={runningColumns}
                  rows={runs}
                  keyOf={({ session_id: id }) => id}
                  empty={null}
                  selection={{ of: selection, canChoose: isLive, nameOf }}
                />
              ) : (
                <Tiles sessions={runs} hasMore={nextCursor !== null} selection={selection} />
              )
            }
          </Loaded>
        </section>
      )}
      {show !== 'running' && (
        <section class="page-part" aria-labelledby="ended">
          <h2 id="ended">{show === 'failed' ? 'Failed' : 'Ended'}</h2>
          <List
            live={ended.live}
            rows={ended.live.data?.filter(matches)}
            caption="Ended sessions"
            name="ended"
            hasFilter={false}
            columns={endedColumns}
            keyOf={({ session_id: id }) => id}
            empty={<p class="muted">{isFiltered ? 'No session that has ended matches.' : 'None yet.'}</p>}
            rowsPerPage={10}
            onMore={ended.onMore}
          />
        </section>
      )}
    </div>
  );
}

function isMatch(session: SessionResponse, filter: string): boolean {
  const wanted = filter.trim().toLowerCase();
  const { session_id: id, title, current_url: url, status, ended_reason: reason } = session;
  return [nameOf(session), id, title, url, status, reason].some((text) => text?.toLowerCase().includes(wanted));
}

const CreateLink = () => (
  <a class="button button-main" href={hrefOf('/sessions/new')}>
    <Icon name="plus" />
    Create a session
  </a>
);

const NoneRuns = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <p class="muted">
      No running session matches. <a href={hrefOf('/sessions')}>Show all sessions</a>
    </p>
  ) : (
    <Empty icon="window" title="No session is running">
      <p>A session is a browser of its own that you watch here and drive with Playwright, Puppeteer or plain HTTP.</p>
      <CreateLink />
    </Empty>
  );

interface TilesProps {
  sessions: readonly SessionResponse[];
  hasMore: boolean;
  selection: Selection;
}

const Tiles = ({ sessions, hasMore, selection }: TilesProps) => {
  const shown = sessions.slice(0, tilesMax);
  return (
    <>
      <ul class="wall">
        {shown.map((session) => (
          <Tile key={session.session_id} session={session} selection={selection} />
        ))}
      </ul>
      {(sessions.length > shown.length || hasMore) && (
        <p class="muted">
          {shown.length} of {hasMore ? `more than ${sessions.length}` : sessions.length} sessions are shown. Filter for others, or show them
          as a list.
        </p>
      )}
    </>
  );
};

/** As high as a row of tiles, so that what is below does not move. */
const TileSkeletons = () => (
  <ul class="wall" aria-hidden="true">
    {[1, 2, 3, 4].map((each) => (
      <li key={each} class="tile">
        <span class="tile-picture skeleton" />
        <span class="skeleton" />
        <span class="skeleton" />
      </li>
    ))}
  </ul>
);

const sessionColumn: Column<SessionResponse> = {
  title: 'Session',
  cell: ({ name, session_id: id }) =>
    name === null ? (
      <ShortId id={id} what="the session id" href={hrefOf(`/sessions/${id}`)} />
    ) : (
      <a href={hrefOf(`/sessions/${id}`)} title={id}>
        <bdi>{name}</bdi>
      </a>
    ),
  text: (session) => `${nameOf(session)} ${session.session_id}`,
};
const statusColumn: Column<SessionResponse> = {
  title: 'Status',
  cell: (session) => <SessionBadge session={session} />,
  text: statusText,
};
const kindColumn: Column<SessionResponse> = { title: 'Kind', cell: ({ kind }) => wordsOf(kind), text: ({ kind }) => kind, isMinor: true };
const pageColumn: Column<SessionResponse> = {
  title: 'Page',
  cell: ({ title, current_url: url }) => <bdi class="cell-text">{title || url}</bdi>,
  text: ({ title, current_url: url }) => `${title ?? ''} ${url ?? ''}`,
  isMinor: true,
};

const runningColumns: readonly Column<SessionResponse>[] = [
  sessionColumn,
  statusColumn,
  kindColumn,
  pageColumn,
  { title: 'Started', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
  { title: 'Ends at the latest', cell: ({ expires_at: at }) => <Time at={at} />, text: ({ expires_at: at }) => at },
  {
    title: 'When idle for',
    cell: ({ idle_timeout_seconds: seconds }) => durationText(seconds * 1000),
    text: ({ idle_timeout_seconds: seconds }) => seconds,
    isMinor: true,
  },
];

const endedColumns: readonly Column<SessionResponse>[] = [
  {
    title: 'Picture',
    cell: ({ session_id: sessionId, recording: { rec_id: recId, status } }) => (
      <Poster sessionId={sessionId} recId={status === 'failed' ? null : recId} />
    ),
    isMinor: true,
  },
  sessionColumn,
  statusColumn,
  kindColumn,
  pageColumn,
  {
    title: 'Ran for',
    cell: (session) => (session.ended_at === null ? '–' : durationText(lifetimeMs(session))),
    text: lifetimeMs,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Ended', cell: ({ ended_at: at }) => (at === null ? 'just now' : <Time at={at} />), text: ({ ended_at: at }) => at },
];

function lifetimeMs({ created_at: created, ended_at: ended }: SessionResponse): number {
  return Date.parse(ended ?? created) - Date.parse(created);
}
