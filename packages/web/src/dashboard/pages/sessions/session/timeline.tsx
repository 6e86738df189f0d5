import { useSignal } from '@preact/signals';
import type { SessionEventResponse, SessionResponse } from '@berth/contract';
import { kindDisplay } from '../../../../player/timeline/kind-faces.ts';
import { foldedKinds, toRow } from '../../../../player/timeline/timeline.ts';
import { Icon } from '../../../ui/icons.tsx';
import { scrollable } from '../../../ui/scrollable.ts';
import { Empty } from '../../../ui/states.tsx';
import { clockTimeText, dateTimeText } from '../../../ui/values/texts.ts';
import { isLive } from '../session-state.tsx';

/** The service retains as many. */
const eventsMax = 500;

/** What happened in the session, newest first, in the words of the player, which folds viewers away as well. */
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
  return <Rows events={events.slice(-eventsMax)} />;
}

function Rows({ events }: { events: readonly SessionEventResponse[] }) {
  const withViewers = useSignal(false);
  const rows = events.map(({ id, at, type, data }) => ({ id, at, ...toRow({ t_ms: 0, at, type, data }) })).toReversed();
  const folded = rows.filter(({ kind }) => foldedKinds.includes(kind));
  const shown = withViewers.value ? rows : rows.filter((row) => !folded.includes(row));
  return (
    <>
      {folded.length > 0 && (
        <button
          type="button"
          class="button fold-button"
          aria-pressed={withViewers.value}
          onClick={() => (withViewers.value = !withViewers.value)}
        >
          <Icon name="people" />
          {withViewers.value ? 'Hide viewers' : `Show viewers (${folded.length})`}
        </button>
      )}
      <div class="events" {...scrollable('Timeline')}>
        <ol>
          {shown.map(({ id, at, kind, label, detail, isError }) => (
            <li key={id} data-error={isError} data-kind={kind}>
              <time dateTime={at} title={dateTimeText(at)}>
                {clockTimeText(at)}
              </time>
              <Icon name={isError ? 'alert' : kindDisplay[kind].icon} />
              <span class="event-words">
                <strong>{label}</strong>
                <bdi>{detail}</bdi>
              </span>
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}
