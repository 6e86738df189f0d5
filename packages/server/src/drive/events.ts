import { ServiceError } from '@berth/contract';
import { listenersMax, type LiveSession, type SessionEvent } from '../sessions/sessions.ts';

type SessionEvents = LiveSession['events'];

export interface FeedOptions {
  /** The last that the caller has seen; null: it wants only what comes. */
  afterId: number | null;
  signal: AbortSignal;
}

const over = { done: true, value: undefined } as const;

/**
 * A session's events for one listener, until the session ends. It listens from
 * its making on, so that nothing is lost between the answer and the first look.
 */
export class EventFeed implements AsyncIterableIterator<SessionEvent> {
  readonly #waiting: SessionEvent[];
  readonly #stopListening: () => void;
  #isOver = false;
  #wake: () => void = () => {};

  /** @throws ServiceError too_many_streams */
  constructor(events: SessionEvents, { afterId, signal }: FeedOptions) {
    if (events.listening >= listenersMax)
      throw new ServiceError('too_many_streams', `A session has at most ${listenersMax} streams of events. Close one first.`, {
        retryAfterSeconds: 5,
      });
    this.#waiting = afterId === null ? [] : events.after(afterId);
    this.#stopListening = events.listen((event) => {
      this.#waiting.push(event);
      this.#wake();
    });
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** One at a time: who asks again before the answer is there, loses the first. */
  async next(): Promise<IteratorResult<SessionEvent, undefined>> {
    while (!this.#isOver && this.#waiting.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    const event = this.#isOver ? undefined : this.#waiting.shift();
    if (!event) return over;
    if (event.type === 'session.ended') this.#stop();
    return { done: false, value: event };
  }

  async return(): Promise<IteratorResult<SessionEvent, undefined>> {
    this.#stop();
    return over;
  }

  #stop(): void {
    this.#isOver = true;
    this.#stopListening();
    this.#wake();
  }
}
