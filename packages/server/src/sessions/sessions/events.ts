/** A session's events in order. The latest are retained, so that a listener can resume after a disconnect. */
import type { SessionEventResponse, SessionEventType } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { KnownSecrets } from './known-secrets.ts';

export type SessionEvent = SessionEventResponse;

/** A page that opens and closes windows in a loop emits hundreds a second; a live listener never needs older ones. */
const eventsMax = 500;
/** Each listener costs a socket and a copy of every event. */
export const listenersMax = 10;

type Listener = (event: SessionEvent) => void;

export class SessionEvents {
  /** What pages show of these is in no event. */
  readonly secrets = new KnownSecrets();
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #events: SessionEvent[] = [];
  #lastId = 0;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  emit(type: SessionEventType, data: Record<string, unknown>): void {
    const event: SessionEvent = { id: ++this.#lastId, type, at: this.#clock.now().toISOString(), data: this.secrets.mask(data) };
    this.#events.push(event);
    if (this.#events.length > 2 * eventsMax) this.#events = this.#events.slice(-eventsMax);
    for (const listener of this.#listeners) listener(event);
  }

  /** Emits the session's last event, once: an end may be told before it is stored, and again when it is. */
  emitLast(type: SessionEventType, data: Record<string, unknown>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit(type, data);
  }

  /** The retained events after an id. */
  after(id: number): SessionEvent[] {
    return this.#events.slice(-eventsMax).filter((event) => event.id > id);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
