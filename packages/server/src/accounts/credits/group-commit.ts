import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';

/** Items of one transaction, which takes some milliseconds. */
const batchMax = 500;
/** Some seconds of work: further items would wait longer than a call may take. */
const waitingMax = 5000;
const retryAfterSeconds = 2;

interface Waiting<Item, Outcome> {
  item: Item;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: many items in one transaction, and one transaction at a time.
 * Items that arrive during a transaction share the next one, so the cost of a
 * durable write is shared by all of them.
 *
 * Items are processed first in, first out. Each resolves after the commit of its
 * transaction.
 */
export class GroupCommit<Item, Outcome> {
  readonly #write: (items: Item[]) => Promise<(Outcome | Error)[]>;
  #waiting: Waiting<Item, Outcome>[] = [];
  #working: Promise<void> | null = null;

  /** `write` returns the result of each item, an Error where it is refused; it throws where nothing was written. */
  constructor(write: (items: Item[]) => Promise<(Outcome | Error)[]>) {
    this.#write = write;
  }

  /** @throws the Error of a refused item; ServiceError store_unavailable when the write fails or the queue is full */
  submit(item: Item): Promise<Outcome> {
    if (this.#waiting.length >= waitingMax) return Promise.reject(tooMany());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#waiting.push({ item, resolve, reject });
    this.#working ??= this.#work();
    return promise;
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    do {
      // Items submitted in the same tick, or right after their predecessors resolve, share the next transaction.
      await nextTurn();
      await this.#commitBatch(this.#waiting.splice(0, batchMax));
    } while (this.#waiting.length > 0);
    this.#working = null;
  }

  async #commitBatch(batch: Waiting<Item, Outcome>[], attempts = 2): Promise<void> {
    try {
      const outcomes = await this.#write(batch.map(({ item }) => item));
      batch.forEach((waiting, at) => answer(waiting, outcomes[at]));
    } catch (error) {
      await this.#failed(batch, error, attempts - 1);
    }
  }

  async #failed(batch: Waiting<Item, Outcome>[], error: unknown, attemptsLeft: number): Promise<void> {
    if (isUnavailable(error)) {
      // Queued items would only wait for the same failure.
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
    } else if (batch.length > 1) {
      // One item is at fault: the halves without it succeed.
      const middle = Math.ceil(batch.length / 2);
      await this.#commitBatch(batch.slice(0, middle));
      await this.#commitBatch(batch.slice(middle));
    } else if (attemptsLeft > 0) {
      // A conflict with another worker does not repeat.
      await this.#commitBatch(batch, attemptsLeft);
    } else {
      for (const { reject } of batch) reject(error);
    }
  }
}

function answer<Item, Outcome>({ resolve, reject }: Waiting<Item, Outcome>, outcome: Outcome | Error | undefined): void {
  if (outcome === undefined) reject(new Error('the write returned no result for an item'));
  else if (outcome instanceof Error) reject(outcome);
  else resolve(outcome);
}

const isUnavailable = (error: unknown): boolean => error instanceof ServiceError && error.code === 'store_unavailable';

const tooMany = (): ServiceError =>
  new ServiceError('store_unavailable', 'Too many charges are queued. Try again shortly.', {
    retryAfterSeconds,
    internal: `${waitingMax} wallet operations are queued`,
  });
