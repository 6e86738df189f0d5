/**
 * What a person's hands did and a page has not yet been given, in its order.
 *
 * A stroke waits for the stroke before it: only then has that gone to the
 * frame which gets the focus by it. Nothing waits for the pointer's way alone.
 */
import { PageError } from '../page/model.ts';

/** A page that is slow for seconds has this much of a fast hand before it. */
const mostWaiting = 256;

interface Waiting {
  /** Whether what comes after need not wait until it is done. */
  passing: boolean;
  done: Promise<unknown>;
  /** Never rejects. */
  send(): Promise<void>;
}

export class InputLane {
  readonly #waiting: Waiting[] = [];
  readonly #sent = new Set<Waiting>();
  readonly #oneByOne: () => boolean;

  /** While `oneByOne` says so, everything waits for what is before it. */
  constructor(oneByOne: () => boolean) {
    this.#oneByOne = oneByOne;
  }

  get isFull(): boolean {
    return this.#waiting.length >= mostWaiting;
  }

  /** Whether nothing has come after it, and it was not sent yet. */
  canStillChange(done: Promise<unknown> | undefined): boolean {
    return done !== undefined && this.#waiting.at(-1)?.done === done;
  }

  /** The pointer's way, or a turn of its wheel. */
  pass(send: () => Promise<void>): Promise<void> {
    return this.#add(true, send);
  }

  /** @throws PageError `not_possible` when too much waits */
  stroke<T>(send: () => Promise<T>): Promise<T> {
    if (this.isFull) return Promise.reject(new PageError('not_possible', 'Too many inputs wait for the page.'));
    return this.#add(false, send);
  }

  /** What must be done whatever waits. */
  last(send: () => Promise<void>): Promise<void> {
    return this.#add(false, send);
  }

  #add<T>(passing: boolean, send: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ passing, done: promise, send: () => send().then(resolve, reject) });
    this.#advance();
    return promise;
  }

  #advance(): void {
    for (let next = this.#waiting[0]; next && this.#maySend(next); next = this.#waiting[0]) {
      const sending = next;
      this.#waiting.shift();
      this.#sent.add(sending);
      void sending.send().then(() => {
        this.#sent.delete(sending);
        this.#advance();
      });
    }
  }

  #maySend({ passing }: Waiting): boolean {
    if (this.#sent.size === 0) return true;
    return !passing && !this.#oneByOne() && [...this.#sent].every((each) => each.passing);
  }
}
