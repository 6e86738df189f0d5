import { useSignal } from '@preact/signals';
import type { AdminSessionResponse } from '@berth/contract';
import { Fragment } from 'preact';
import { call, callPage } from '../../api.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/form/fields.tsx';
import { ShortId } from '../../ui/values/short-id.tsx';
import { Empty } from '../../ui/states.tsx';
import { List, type Column } from '../../ui/table.tsx';
import { dateTimeText, durationText, numberText, sizeText, wordsOf } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toasts } from '../../ui/toasts.ts';
import { SessionBadge, isolationText, statusText } from '../sessions/session-state.tsx';
import { FilterField } from './filter-field.tsx';
import { OwnerLink, PageFrame, filtered, refreshMs } from './parts.tsx';
import { useQuery } from '../../query.ts';
import { usePages } from '../../use-pages.ts';

const live = 'starting,ready,ending';
const statuses = [
  { value: '', label: 'Live ones' },
  { value: 'all', label: 'All' },
  { value: 'ready', label: 'Ready' },
  { value: 'ended', label: 'Ended' },
  { value: 'failed', label: 'Failed' },
];
const purposes = [
  { value: '', label: 'Sessions and fetches' },
  { value: 'session', label: 'Sessions' },
  { value: 'fetch', label: 'Machines of fetches' },
];
const isLive = ({ status }: AdminSessionResponse): boolean => live.includes(status);

export default function SessionsPage() {
  const { values, set } = useQuery({ owner: 'text', status: statuses, purpose: purposes });
  const { owner, status, purpose } = values;
  const shown = useSignal<AdminSessionResponse | null>(null);
  const ended = useSignal<AdminSessionResponse | null>(null);
  const list = usePages(
    ({ cursor, signal }) =>
      callPage('listAllSessions', { query: { owner, purpose, status: status === 'all' ? undefined : (status ?? live), cursor }, signal }),
    { everyMs: refreshMs, inputs: [owner, status, purpose] },
  );
  const end = async (): Promise<void> => {
    if (!ended.value) return;
    await call('endAnySession', { params: { session_id: ended.value.session_id } });
    toasts.show(`The session ${ended.value.session_id} is ended.`);
    await list.live.reload();
  };
  return (
    <PageFrame title="All sessions" about="Sessions of all owners, live and recently ended.">
      <div class="filter-fields">
        <FilterField label="Owner" value={owner} onChange={(value) => set({ owner: value })} />
        <SelectField label="Status" value={status ?? ''} options={statuses} onInput={(value) => set({ status: value })} />
        <SelectField label="Purpose" value={purpose ?? ''} options={purposes} onInput={(value) => set({ purpose: value })} />
      </div>
      <List
        live={list.live}
        caption="Sessions of all owners"
        name="main"
        columns={columnsFor({ onShow: (session) => (shown.value = session), onEnd: (session) => (ended.value = session) })}
        keyOf={({ session_id: id }) => id}
        onMore={list.onMore}
        empty={
          <Empty icon="window" title="No sessions">
            <p>No session matches. Choose “All” to see those that have ended.</p>
          </Empty>
        }
      />
      <Dialog title="Session" isOpen={shown.value !== null} onClose={() => (shown.value = null)}>
        {shown.value && <Details session={shown.value} />}
      </Dialog>
      <Confirm
        title="End this session?"
        text={
          ended.value && (
            <>
              The browser of <strong>{ended.value.owner}</strong> (<code>{ended.value.session_id}</code>) is closed at once. Calls in
              progress fail, connected clients lose their browser, and the owner sees the reason <code>admin</code>. This cannot be undone.
            </>
          )
        }
        action="End the session"
        isOpen={ended.value !== null}
        onClose={() => (ended.value = null)}
        onConfirm={end}
      />
    </PageFrame>
  );
}

type Act = (session: AdminSessionResponse) => void;

const columnsFor = ({ onShow, onEnd }: { onShow: Act; onEnd: Act }): readonly Column<AdminSessionResponse>[] => [
  {
    title: 'Session',
    cell: ({ name, session_id: id }) => (name === null ? <ShortId id={id} what="the session id" /> : <bdi title={id}>{name}</bdi>),
    text: ({ name, session_id: id }) => `${name ?? ''} ${id}`,
  },
  { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
  {
    title: 'Status',
    cell: (session) => <SessionBadge session={session} />,
    text: ({ status, ended_reason: reason }) => `${status} ${reason ?? ''}`,
  },
  {
    title: 'Page',
    cell: ({ title, current_url: url }) => title || url,
    text: ({ title, current_url: url }) => `${title ?? ''} ${url ?? ''}`,
    isMinor: true,
  },
  { title: 'Kind', cell: ({ kind }) => wordsOf(kind), text: ({ kind }) => kind, isMinor: true },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
  { title: 'Credits', cell: ({ cost }) => numberText(cost.credits), text: ({ cost }) => cost.credits, isNumber: true, isMinor: true },
  {
    title: 'Actions',
    cell: (session) => (
      <div class="row">
        <button type="button" class="button" onClick={() => onShow(session)}>
          Details
        </button>
        {isLive(session) && (
          <button type="button" class="button button-danger" onClick={() => onEnd(session)}>
            End
          </button>
        )}
      </div>
    ),
  },
];

function Details({ session }: { session: AdminSessionResponse }) {
  const { usage, egress } = session;
  const rows: readonly (readonly [string, string | null])[] = [
    ['Id', session.session_id],
    ['Owner', session.owner],
    ['Status', statusText(session)],
    ['Name', session.name],
    ['Page', session.title],
    ['Address', session.current_url],
    ['Kind', `${wordsOf(session.kind)}, ${isolationText(session.isolation)}`],
    ['Region', session.region],
    ['Egress', [egress.ip, egress.country].filter(Boolean).join(', ') || null],
    ['Created', dateTimeText(session.created_at)],
    ['Last activity', dateTimeText(session.last_activity_at)],
    [session.ended_at === null ? 'Ends at the latest' : 'Ended', dateTimeText(session.ended_at ?? session.expires_at)],
    ['API key', session.key_id],
    ['Worker', session.worker_id],
    ['Machine', session.vm_id],
    ['Process', session.pid === null ? null : String(session.pid)],
    ['Usage', `${numberText(usage.actions)} actions, ${durationText(usage.browser_seconds * 1000)}, ${sizeText(usage.egress_bytes)}`],
    ['Cost', `${numberText(session.cost.credits)} credits`],
  ];
  return (
    <>
      <dl class="operator-details">
        {rows
          .filter(([, value]) => value !== null && value !== '')
          .map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </Fragment>
          ))}
      </dl>
      <p>
        <a href={filtered('/operator/audit', { subject: session.session_id })}>What happened to this session</a>
      </p>
    </>
  );
}
