/**
 * Remote input that is queued for a page, in order.
 *
 * A key or button event waits for the one before it: only then has that reached
 * the frame that gets the focus by it. Nothing waits for pointer moves alone.
 */
import { PageError } from '../page/page.ts';

/** Maximum number of waiting inputs: as many as fast input queues up for a page that is slow for some seconds. */
const waitingMax = 256;

interface Waiting {
  /** Later input need not wait for a move. */
  isMove: boolean;
  done: Promise<unknown>;
  /** Never rejects. */
  send(): Promise<void>;
}

export class InputLane {
  readonly #waiting: Waiting[] = [];
  readonly #sent = new Set<Waiting>();
  readonly #isSerial: () => boolean;

  /** While `isSerial` returns true, every input waits for the one before it. */
  constructor(isSerial: () => boolean) {
    this.#isSerial = isSerial;
  }

  get isFull(): boolean {
    return this.#waiting.length >= waitingMax;
  }

  /** Whether it is the last in the queue and not sent yet. */
  canStillChange(done: Promise<unknown> | undefined): boolean {
    return done !== undefined && this.#waiting.at(-1)?.done === done;
  }

  /** Queues a pointer move or a turn of the wheel. */
  enqueueMove(send: () => Promise<void>): Promise<void> {
    return this.#add(true, send);
  }

  /** @throws PageError `not_possible` when the queue is full */
  enqueue<T>(send: () => Promise<T>): Promise<T> {
    if (this.isFull)
      return Promise.reject(new PageError('not_possible', 'Too many inputs are queued for the page. Wait for earlier ones to finish.'));
    return this.#add(false, send);
  }

  /** Queues even when the queue is full. */
  enqueueAlways(send: () => Promise<void>): Promise<void> {
    return this.#add(false, send);
  }

  #add<T>(isMove: boolean, send: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ isMove, done: promise, send: () => send().then(resolve, reject) });
    this.#advance();
    return promise;
  }

  #advance(): void {
    for (let next = this.#waiting[0]; next && this.#canSend(next); next = this.#waiting[0]) {
      const sending = next;
      this.#waiting.shift();
      this.#sent.add(sending);
      void sending.send().then(() => {
        this.#sent.delete(sending);
        this.#advance();
      });
    }
  }

  #canSend({ isMove }: Waiting): boolean {
    if (this.#sent.size === 0) return true;
    return !isMove && !this.#isSerial() && [...this.#sent].every((each) => each.isMove);
  }
}
