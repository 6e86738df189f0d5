import { useSignal } from '@preact/signals';
import { Icon } from '../shared/icons.tsx';
import { EventDetails } from './event-details.tsx';
import { EventList } from './event-list.tsx';
import { kindFaces } from './kind-faces.ts';
import { rowsMax, type Player } from './player.ts';
import { eventKinds, type EventKind } from './timeline.ts';

/** What happened, beside the video. */
export function Timeline({ player }: { player: Player }) {
  /** The row that the keyboard or the mouse has chosen. */
  const chosen = useSignal<number | null>(null);
  const count = player.picked.value.length;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-head">
        <h2>Timeline</h2>
        <span class="muted" role="status">
          {count === 1 ? '1 event' : `${count.toLocaleString()} events`}
        </span>
      </div>
      <Search player={player} />
      <Kinds player={player} />
      {player.rows.value.length === 0 ? (
        <p class="timeline-empty muted">{player.isGrowing.value ? 'Nothing has happened yet.' : 'Nothing happened.'}</p>
      ) : count === 0 ? (
        <p class="timeline-empty muted">No event is of these kinds and has these words.</p>
      ) : (
        <EventList player={player} chosen={chosen} />
      )}
      {player.rows.value.length >= rowsMax && (
        <p class="timeline-note muted">The first {rowsMax.toLocaleString()} events. All are in events.ndjson.</p>
      )}
      <EventDetails row={player.picked.value[chosen.value ?? player.current.value]} />
    </section>
  );
}

const Search = ({ player }: { player: Player }) => (
  <label class="search">
    <Icon name="search" />
    <span class="visually-hidden">Search the timeline</span>
    <input
      type="search"
      placeholder="Search"
      value={player.search}
      onInput={(event) => (player.search.value = event.currentTarget.value)}
    />
  </label>
);

function Kinds({ player }: { player: Player }) {
  const kinds = player.kinds.value;
  const toggle = (kind: EventKind) => {
    const others = [...kinds].filter((each) => each !== kind);
    player.kinds.value = new Set(kinds.has(kind) ? others : [...kinds, kind]);
  };
  return (
    <div class="kinds" role="group" aria-label="Kinds of events">
      {eventKinds.map((kind) => (
        <button key={kind} type="button" class={`kind kind-${kind}`} aria-pressed={kinds.has(kind)} onClick={() => toggle(kind)}>
          <Icon name={kindFaces[kind].icon} />
          {kindFaces[kind].name}
        </button>
      ))}
    </div>
  );
}
