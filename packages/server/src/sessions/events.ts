/** What happened in a session, in order: the latest are kept, so that a listener that was away can go on where it was. */
import type { SessionEventResponse, SessionEventType } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';

export type SessionEvent = SessionEventResponse;

/** A page that opens and closes windows in a loop makes hundreds a second; what is older is of no use to a listener that lives. */
const eventsMax = 500;
/** Each is a socket of the worker's and a copy of every event. */
export const listenersMax = 10;

type Listener = (event: SessionEvent) => void;

export class SessionEvents {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #events: SessionEvent[] = [];
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get listening(): number {
    return this.#listeners.size;
  }

  tell(type: SessionEventType, data: Record<string, unknown>): void {
    const event: SessionEvent = { id: ++this.#lastId, type, at: this.#clock.now().toISOString(), data };
    this.#events.push(event);
    if (this.#events.length > 2 * eventsMax) this.#events = this.#events.slice(-eventsMax);
    for (const listener of this.#listeners) listener(event);
  }

  /** Those after an id, as far as they are kept. */
  after(id: number): SessionEvent[] {
    return this.#events.slice(-eventsMax).filter((event) => event.id > id);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
