import { useRef } from 'preact/hooks';
import type { ConsoleLineResponse, SessionResponse } from '@berth/contract';
import { NdjsonReader } from '../../../../player/footage/ndjson.ts';
import { isTimelineEvent, toRow, type Row } from '../../../../player/timeline/timeline.ts';
import { call, send } from '../../../api.ts';
import { toShown } from '../../../api-error.ts';
import { useLive, type Live } from '../../../live.ts';
import { scrollable } from '../../../ui/scrollable.ts';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { clockTimeText } from '../../../ui/values/texts.ts';
import { isLive } from '../session-state.tsx';

/** The recording, if there is one, has the rest. */
const linesMax = 1000;

interface Line {
  at: string;
  level: string;
  text: string;
  isError: boolean;
}

/** What pages logged: from the recording’s timeline as it grows, or of a running session from the first look on. */
export function ConsoleLines({ session }: { session: SessionResponse }) {
  const { rec_id: recId } = session.recording;
  if (recId !== null) return <Recorded session={session} recId={recId} />;
  if (session.status === 'ready') return <Running session={session} />;
  return (
    <Empty icon="terminal" title={isLive(session) ? 'The browser is starting' : 'The console was not recorded'}>
      <p>Console lines can be read while the session runs. Create a session with “Record” to have them afterwards, too.</p>
    </Empty>
  );
}

function Running({ session }: { session: SessionResponse }) {
  const known = useRef<readonly ConsoleLineResponse[]>([]);
  const read = async (signal: AbortSignal): Promise<readonly Line[]> => {
    const after = known.current.at(-1)?.id ?? 0;
    const added = await call('getConsole', { params: { session_id: session.session_id }, query: { after }, signal });
    known.current = [...known.current, ...added].slice(-linesMax);
    return known.current.map(({ at, level, text }) => ({ at, level, text, isError: level === 'error' }));
  };
  return (
    <List live={useLive(read, { everyMs: 5000 })} empty="Lines are collected from now on. Create a session with “Record” to have all." />
  );
}

function Recorded({ session, recId }: { session: SessionResponse; recId: string }) {
  const reader = useRef(new NdjsonReader<unknown>());
  const rows = useRef<Row[]>([]);
  const read = async (signal: AbortSignal): Promise<readonly Line[]> => {
    const bytes = await readAppended({ sessionId: session.session_id, recId, from: reader.current.bytes, signal });
    const added = reader.current.push(bytes).filter(isTimelineEvent).map(toRow);
    rows.current = [...rows.current, ...added.filter(({ kind }) => kind === 'console')].slice(-linesMax);
    return rows.current.map(({ event: { at }, label, detail, isError }) => ({
      at,
      level: label.replace('Console ', ''),
      text: detail,
      isError,
    }));
  };
  return <List live={useLive(read, { everyMs: 5000 })} />;
}

const List = ({ live, empty }: { live: Live<readonly Line[]>; empty?: string }) => (
  <Loaded live={live} loading="Reading the console">
    {(lines) =>
      lines.length === 0 ? (
        <Empty icon="terminal" title="No page has logged anything">
          {empty && <p>{empty}</p>}
        </Empty>
      ) : (
        <div class="events console-lines" {...scrollable('Console')}>
          <ol>
            {lines.toReversed().map(({ at, level, text, isError }, index) => (
              <li key={lines.length - index} data-error={isError}>
                <time dateTime={at}>{clockTimeText(at)}</time>
                <span>
                  <strong>{level}</strong> <bdi>{text}</bdi>
                </span>
              </li>
            ))}
          </ol>
        </div>
      )
    }
  </Loaded>
);

interface ReadOptions {
  sessionId: string;
  recId: string;
  from: number;
  signal: AbortSignal;
}

/** The bytes of the timeline from `from` on; none while the file does not exist. */
async function readAppended({ sessionId, recId, from, signal }: ReadOptions): Promise<Uint8Array> {
  const params = { session_id: sessionId, rec_id: recId, asset_path: 'events.ndjson' };
  try {
    // Includes the byte before, as an empty range is an error.
    const headers: Record<string, string> = from > 0 ? { range: `bytes=${from - 1}-` } : {};
    const response = await send('readRecordingAsset', { params, headers, signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return from > 0 ? bytes.subarray(response.status === 206 ? 1 : from) : bytes;
  } catch (error) {
    if (toShown(error).status === 404) return new Uint8Array();
    throw error;
  }
}
