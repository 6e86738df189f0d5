import { useSignalEffect, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../../shared/icons.tsx';
import { clockText } from '../duration.ts';
import { kindDisplay } from './kind-faces.ts';
import { rowPx, useListWindow } from './list-window.ts';
import type { Player } from '../player.ts';
import type { Row } from './timeline.ts';

interface EventListProps {
  player: Player;
  /** The selected row; null while the list follows the video. */
  chosen: Signal<number | null>;
}

const eventId = (index: number): string => `event-${index}`;

/** A virtualized list: only the visible rows are rendered. */
export function EventList({ player, chosen }: EventListProps) {
  const rows = player.picked.value;
  const current = player.current.value;
  const window = useListWindow(rows.length);
  useSignalEffect(() => {
    if (window.isFollowing.value && player.current.value >= 0) window.reveal(player.current.value);
  });
  // The selection is an index of the filtered rows, so a new filter clears it.
  useEffect(() => {
    chosen.value = null;
  }, [player.search.value, player.kinds.value]);

  const jump = (index: number) => {
    const row = rows[index];
    if (!row) return;
    chosen.value = index;
    window.follow(true);
    player.seek(row.event.t_ms);
  };
  const choose = (index: number) => {
    chosen.value = Math.min(rows.length - 1, Math.max(0, index));
    window.follow(false);
    window.reveal(chosen.value);
  };
  const followVideo = () => {
    chosen.value = null;
    window.follow(true);
  };
  const press = (event: KeyboardEvent) => {
    const from = chosen.value ?? Math.max(0, current);
    const to = indexAfter(event.key, { from, rowsInView: window.rowsInView, last: rows.length - 1 });
    const isJump = event.key === 'Enter' || event.key === ' ';
    if (to === undefined && !isJump) return;
    event.preventDefault();
    if (to === undefined) jump(from);
    else choose(to);
  };

  const marked = chosen.value ?? current;
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
            const marks = { isCurrent: index === current, isChosen: index === chosen.value };
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
  onJump: (index: number) => void;
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
    onClick={() => onJump(index)}
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
