import { ServiceError } from '@berth/contract';
import { listenersMax, type LiveSession, type SessionEvent } from '../../sessions/sessions.ts';

type SessionEvents = LiveSession['events'];

export interface FeedOptions {
  /** Resume after this event; null for new events only. */
  afterId: number | null;
  signal: AbortSignal;
}

const doneResult = { done: true, value: undefined } as const;

/**
 * A session's events for one listener, until the session ends. Subscribes in
 * the constructor, so that no event is lost before the first `next`.
 */
export class EventFeed implements AsyncIterableIterator<SessionEvent> {
  readonly #waiting: SessionEvent[];
  readonly #stopListening: () => void;
  #isDone = false;
  #wake: () => void = () => {};

  /** @throws ServiceError too_many_streams */
  constructor(events: SessionEvents, { afterId, signal }: FeedOptions) {
    if (events.listenerCount >= listenersMax)
      throw new ServiceError('too_many_streams', `A session allows at most ${listenersMax} event streams. Close one first.`, {
        retryAfterSeconds: 5,
      });
    this.#waiting = afterId === null ? [] : events.after(afterId);
    this.#stopListening = events.subscribe((event) => {
      this.#waiting.push(event);
      this.#wake();
    });
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Allows one pending call: a second one orphans the first. */
  async next(): Promise<IteratorResult<SessionEvent, undefined>> {
    while (!this.#isDone && this.#waiting.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    const event = this.#isDone ? undefined : this.#waiting.shift();
    if (!event) return doneResult;
    if (event.type === 'session.ended') this.#stop();
    return { done: false, value: event };
  }

  async return(): Promise<IteratorResult<SessionEvent, undefined>> {
    this.#stop();
    return doneResult;
  }

  #stop(): void {
    this.#isDone = true;
    this.#stopListening();
    this.#wake();
  }
}
