import { useSignal } from '@preact/signals';
import type { SessionEventResponse, SessionResponse } from '@berth/contract';
import { useEffect } from 'preact/hooks';
import { call } from '../../../api.ts';
import { followEvents, useLive, type Live } from '../../../live.ts';
import { hrefOf } from '../../../href.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { Empty, Loaded, Loading } from '../../../ui/states.tsx';
import { Split } from '../../../ui/split.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Connect } from './connect.tsx';
import { ConsoleLines } from './console.tsx';
import { Details } from './details.tsx';
import { Downloads } from './downloads.tsx';
import { Ended } from './ended.tsx';
import { LiveFrame } from './live-frame.tsx';
import { Network } from './network.tsx';
import { SessionRecording } from './recording.tsx';
import { Share } from './share.tsx';
import { SessionBadge, TimeLeft, isLive, nameOf } from '../session-state.tsx';
import { Storage } from './storage.tsx';
import { Timeline } from './timeline.tsx';
import '../sessions.css';
import '../../../../live-view/live-view.css';

/** The latest; a session may run for a day. */
const eventsMax = 2000;

export default function SessionPage({ params }: PageProps) {
  const { session_id: id = '' } = params;
  return <One key={id} id={id} />;
}

function One({ id }: { id: string }) {
  const live = useLive((signal) => call('getSession', { params: { session_id: id }, signal }), { everyMs: 5000 });
  const { data: session } = live;
  const revocations = useSignal(0);
  const events = useEvents(id, { isReady: session?.status === 'ready', onChange: live.reload });
  useEffect(() => {
    if (session) document.title = `${nameOf(session)} · Berth`;
  }, [session?.name]);
  return (
    <div class={session && isLive(session) ? 'page page-full' : 'page'}>
      {!session && <h1>Session</h1>}
      <Loaded live={live} loading="Loading the session">
        {(loaded) => (
          <>
            <Head session={loaded} live={live} onRevoked={() => (revocations.value += 1)} />
            <Body session={loaded} events={events} revocations={revocations.value} />
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Changes of state are read at once; all else at the next interval. */
function useEvents(
  id: string,
  { isReady, onChange }: { isReady: boolean; onChange: () => Promise<void> },
): readonly SessionEventResponse[] {
  const events = useSignal<readonly SessionEventResponse[]>([]);
  useEffect(() => {
    if (!isReady) return;
    const stop = new AbortController();
    const onEvent = (event: SessionEventResponse) => {
      events.value = [...events.value.filter(({ id: other }) => other !== event.id), event].slice(-eventsMax);
      if (event.type === 'session.ended' || event.type === 'session.expiring') void onChange();
    };
    void followEvents(id, { onEvent, signal: stop.signal });
    return () => stop.abort();
  }, [id, isReady]);
  return events.value;
}

function Head({ session, live, onRevoked }: { session: SessionResponse; live: Live<SessionResponse>; onRevoked: () => void }) {
  const isEnding = useSignal(false);
  const end = async (): Promise<void> => {
    await call('endSession', { params: { session_id: session.session_id } });
    await live.reload();
  };
  return (
    <>
      <div class="page-head">
        <h1>
          <bdi>{nameOf(session)}</bdi>
        </h1>
        <SessionBadge session={session} />
        {isLive(session) && (
          <span class="muted">
            <TimeLeft session={session} />
          </span>
        )}
        <div class="page-actions">
          {session.status === 'ready' && <Share session={session} onRevoked={onRevoked} />}
          {!isLive(session) && (
            <a class="button button-main" href={hrefOf(`/sessions/new?again=${session.session_id}`)}>
              <Icon name="reload" />
              Run again
            </a>
          )}
          {isLive(session) && (
            <button type="button" class="button button-danger" onClick={() => (isEnding.value = true)}>
              <Icon name="stop" />
              End the session
            </button>
          )}
        </div>
      </div>
      <Confirm
        title="End this session?"
        text={`Its browser is closed, and what is open in it is lost.${session.recording.enabled ? ' Its recording remains.' : ''}`}
        action="End the session"
        isOpen={isEnding.value}
        onClose={() => (isEnding.value = false)}
        onConfirm={end}
      />
    </>
  );
}

/** A running session beside what happens in it; of one that has ended, what is left. */
function Body({
  session,
  events,
  revocations,
}: {
  session: SessionResponse;
  events: readonly SessionEventResponse[];
  revocations: number;
}) {
  const isOpen = useSignal(false);
  const parts = <Parts session={session} events={events} onOpen={() => (isOpen.value = true)} />;
  if (!isLive(session))
    return (
      <>
        <Ended session={session} />
        {parts}
      </>
    );
  return (
    <Split
      label="What happens"
      main={<Picture session={session} revocations={revocations} />}
      panel={parts}
      isOpen={isOpen.value}
      onToggle={(next) => (isOpen.value = next)}
    />
  );
}

const toPanel = () => document.querySelector<HTMLElement>('.split-panel [role=tab][aria-selected=true]')?.focus();

/** Its view was opened by a link, too, which a revocation ends: after each it opens anew. */
function Picture({ session, revocations }: { session: SessionResponse; revocations: number }) {
  if (session.status === 'ready') return <LiveFrame key={revocations} sessionId={session.session_id} onSkip={toPanel} />;
  return (
    <div class="session-view session-still">
      <Loading label="The browser is starting" />
    </div>
  );
}

const parts = [
  { id: 'timeline', title: 'Timeline' },
  { id: 'network', title: 'Network' },
  { id: 'console', title: 'Console' },
  { id: 'files', title: 'Files' },
  { id: 'storage', title: 'Storage' },
  { id: 'connect', title: 'Connect' },
  { id: 'recording', title: 'Recording' },
  { id: 'details', title: 'Details' },
] as const;
type Part = (typeof parts)[number]['id'];
/** What can be read of a session that has ended; all else is read from its browser. */
const partsAfterwards: readonly Part[] = ['recording', 'console', 'details'];

const byUse = (one: { id: Part }, other: { id: Part }): number => partsAfterwards.indexOf(one.id) - partsAfterwards.indexOf(other.id);

interface PartsProps {
  session: SessionResponse;
  events: readonly SessionEventResponse[];
  /** Somebody chose one. */
  onOpen: () => void;
}

function Parts({ session, events, onOpen }: PartsProps) {
  const isRunning = session.status === 'ready';
  const chosen = useSignal<Part | null>(null);
  const shown = isLive(session) ? parts : parts.filter(({ id }) => partsAfterwards.includes(id)).toSorted(byUse);
  const current = shown.find(({ id }) => id === chosen.value)?.id ?? shown[0]?.id ?? 'details';
  const choose = (id: string) => {
    chosen.value = id as Part;
    onOpen();
  };
  return (
    <Tabs label="Parts of the session" tabs={shown} current={current} onChange={choose}>
      {current === 'timeline' && <Timeline session={session} events={events} />}
      {current === 'network' && (isRunning ? <Network session={session} /> : <NotRunning what="Network traffic" session={session} />)}
      {current === 'console' && <ConsoleLines session={session} />}
      {current === 'files' && (isRunning ? <Downloads session={session} /> : <NotRunning what="Downloaded files" session={session} />)}
      {current === 'storage' &&
        (isRunning ? <Storage session={session} /> : <NotRunning what="Cookies and local storage" session={session} />)}
      {current === 'recording' && <SessionRecording session={session} />}
      {current === 'connect' && (isRunning ? <Connect session={session} /> : <NotRunning what="Addresses for clients" session={session} />)}
      {current === 'details' && <Details session={session} />}
    </Tabs>
  );
}

const NotRunning = ({ what, session }: { what: string; session: SessionResponse }) => (
  <Empty icon="clock" title={isLive(session) ? 'The browser is starting' : 'The session has ended'}>
    <p>
      {what} can be read while the session runs. {!isLive(session) && session.recording.enabled && 'The recording has what happened.'}
    </p>
  </Empty>
);
