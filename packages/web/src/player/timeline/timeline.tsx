import { Icon } from '../../shared/icons.tsx';
import { EventDetails } from './event-details.tsx';
import { EventList } from './event-list.tsx';
import { kindDisplay } from './kind-faces.ts';
import { rowsMax, type Player } from '../player.ts';
import { eventKinds, type EventKind } from './timeline.ts';

/** The timeline beside the video. */
export function Timeline({ player }: { player: Player }) {
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
        <p class="timeline-empty muted">{player.isGrowing.value ? 'No events yet.' : 'No events.'}</p>
      ) : count === 0 ? (
        <p class="timeline-empty muted">No events match. Change the filters or the search.</p>
      ) : (
        <EventList player={player} />
      )}
      {player.rows.value.length >= rowsMax && (
        <p class="timeline-note muted">Only the first {rowsMax.toLocaleString()} events are shown. Download events.ndjson for all.</p>
      )}
      <EventDetails row={player.picked.value[player.chosenIndex.value ?? player.current.value]} />
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
          <Icon name={kindDisplay[kind].icon} />
          {kindDisplay[kind].name}
        </button>
      ))}
    </div>
  );
}
