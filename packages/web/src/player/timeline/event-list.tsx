import { useSignalEffect } from '@preact/signals';
import { Icon } from '../../shared/icons.tsx';
import { clockText } from '../duration.ts';
import { kindDisplay } from './kind-faces.ts';
import { rowPx, useListWindow } from './list-window.ts';
import type { Player } from '../player.ts';
import type { Row } from './timeline.ts';

const eventId = (index: number): string => `event-${index}`;

/** A virtualized list: only the visible rows are rendered. */
export function EventList({ player }: { player: Player }) {
  const rows = player.picked.value;
  const current = player.current.value;
  const window = useListWindow(rows.length);
  useSignalEffect(() => {
    if (window.isFollowing.value && player.current.value >= 0) window.reveal(player.current.value);
  });

  const jump = (row: Row | undefined) => {
    if (!row) return;
    player.chosen.value = row;
    window.follow(true);
    player.seek(row.event.t_ms);
  };
  const followVideo = () => {
    player.chosen.value = null;
    window.follow(true);
  };
  // A key may follow a new filter before the next rendering, so it is applied to the rows of now.
  const press = (event: KeyboardEvent) => {
    const now = player.picked.value;
    const from = player.chosenIndex.value ?? Math.max(0, player.current.value);
    const to = indexAfter(event.key, { from, rowsInView: window.rowsInView, last: now.length - 1 });
    const isJump = event.key === 'Enter' || event.key === ' ';
    if (to === undefined && !isJump) return;
    event.preventDefault();
    if (to === undefined) return jump(now[from]);
    const index = Math.min(now.length - 1, Math.max(0, to));
    player.chosen.value = now[index] ?? null;
    window.follow(false);
    window.reveal(index);
  };

  const marked = player.chosenIndex.value ?? current;
  const isMarkedDrawn = marked >= window.first && marked < window.last;
  return (
    <div class="events">
      <div
        ref={window.list}
        class="event-list"
        role="listbox"
        tabIndex={0}
        aria-label="Events"
        aria-activedescendant={isMarkedDrawn ? eventId(marked) : undefined}
        onScroll={(event) => window.scrolled(event.currentTarget.scrollTop)}
        onKeyDown={press}
      >
        <div class="event-track" role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
          {rows.slice(window.first, window.last).map((row, offset) => {
            const index = window.first + offset;
            const marks = { isCurrent: index === current, isChosen: row === player.chosen.value };
            return <EventRow key={index} row={row} index={index} count={rows.length} marks={marks} onJump={jump} />;
          })}
        </div>
      </div>
      {!window.isFollowing.value && (
        <button type="button" class="button follow" onClick={followVideo}>
          Follow the video
        </button>
      )}
    </div>
  );
}

function indexAfter(key: string, { from, rowsInView, last }: { from: number; rowsInView: number; last: number }): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowUp: from - 1,
    ArrowDown: from + 1,
    PageUp: from - rowsInView,
    PageDown: from + rowsInView,
    Home: 0,
    End: last,
  };
  return Object.hasOwn(targets, key) ? targets[key] : undefined;
}

interface EventRowProps {
  row: Row;
  index: number;
  count: number;
  marks: { isCurrent: boolean; isChosen: boolean };
  onJump: (row: Row) => void;
}

const EventRow = ({ row, index, count, marks, onJump }: EventRowProps) => (
  // The list has the focus and handles the keys; rows are rendered only while visible.
  // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
  <div
    id={eventId(index)}
    class={`event kind-${row.kind}`}
    role="option"
    aria-selected={marks.isCurrent}
    aria-posinset={index + 1}
    aria-setsize={count}
    data-error={row.isError}
    data-chosen={marks.isChosen}
    style={{ top: `${index * rowPx}px` }}
    onClick={() => onJump(row)}
  >
    <span class="event-time">{clockText(row.event.t_ms)}</span>
    <span class="event-face">
      <Icon name={row.isError ? 'alert' : kindDisplay[row.kind].icon} />
    </span>
    <span class="event-text">
      <span class="event-label">{row.label}</span>
      <bdi class="event-detail">{row.detail}</bdi>
    </span>
  </div>
);
