import type { SessionEventResponse, SessionResponse } from '@berth/contract';
import { toRow } from '../../../player/timeline.ts';
import { scrollable } from '../../ui/scrollable.ts';
import { Empty } from '../../ui/states.tsx';
import { clockTimeText, dateTimeText } from '../../ui/texts.ts';
import { isLive } from './session-state.tsx';

/** The service retains as many. */
const eventsMax = 500;

/** What happened in the session, newest first, in the words of the player. */
export function Timeline({ session, events }: { session: SessionResponse; events: readonly SessionEventResponse[] }) {
  if (events.length === 0)
    return isLive(session) ? (
      <Empty icon="clock" title="Nothing has happened yet">
        <p>Actions, navigations, tabs and downloads appear here as they happen.</p>
      </Empty>
    ) : (
      <Empty icon="clock" title="The session has ended">
        <p>
          Events are kept while a session runs
          {session.recording.enabled ? '. The recording has them all.' : ', and in its recording if it has one.'}
        </p>
      </Empty>
    );
  const newest = events.slice(-eventsMax).toReversed();
  return (
    <div class="events" {...scrollable('Timeline')}>
      <ol>
        {newest.map(({ id, at, type, data }) => {
          const row = toRow({ t_ms: 0, at, type, data });
          return (
            <li key={id} data-error={row.isError}>
              <time dateTime={at} title={dateTimeText(at)}>
                {clockTimeText(at)}
              </time>
              <strong>{row.label}</strong>
              <bdi>{row.detail}</bdi>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
