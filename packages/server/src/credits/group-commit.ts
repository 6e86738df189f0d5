import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';

/** In one transaction: some milliseconds of work. */
const batchMax = 500;
/** Some seconds of work. Who comes then would wait longer than a call may take. */
const waitingMax = 5000;
const retryAfterSeconds = 2;

interface Waiting<Order, Outcome> {
  order: Order;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

/**
 * Many orders in one transaction, and one transaction at a time: what comes
 * while one is under way shares the next. So the price of making it durable is
 * paid once for all of them, and grows with nobody's number.
 *
 * Orders are taken in the order in which they came. Each is answered only when
 * its transaction is committed.
 */
export class GroupCommit<Order, Outcome> {
  readonly #write: (orders: Order[]) => Promise<(Outcome | Error)[]>;
  #waiting: Waiting<Order, Outcome>[] = [];
  #working: Promise<void> | null = null;

  /** `write` gives what each order came to, an Error where it is refused; it throws where nothing was written. */
  constructor(write: (orders: Order[]) => Promise<(Outcome | Error)[]>) {
    this.#write = write;
  }

  /** Throws what the order is refused with, and store_unavailable where it could not be written or too many wait. */
  submit(order: Order): Promise<Outcome> {
    if (this.#waiting.length >= waitingMax) return Promise.reject(tooMany());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#waiting.push({ order, resolve, reject });
    this.#working ??= this.#work();
    return promise;
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    do {
      // Whoever asks in the same breath, or does so as soon as it is answered, shares the next transaction.
      await nextTurn();
      await this.#settle(this.#waiting.splice(0, batchMax));
    } while (this.#waiting.length > 0);
    this.#working = null;
  }

  async #settle(batch: Waiting<Order, Outcome>[], tries = 2): Promise<void> {
    try {
      const outcomes = await this.#write(batch.map(({ order }) => order));
      batch.forEach((waiting, at) => answer(waiting, outcomes[at]));
    } catch (error) {
      await this.#failed(batch, error, tries - 1);
    }
  }

  async #failed(batch: Waiting<Order, Outcome>[], error: unknown, triesLeft: number): Promise<void> {
    if (isUnavailable(error)) {
      // Those that wait would only wait as long for the same answer.
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
    } else if (batch.length > 1) {
      // Something about one of them: the halves without it succeed.
      const middle = Math.ceil(batch.length / 2);
      await this.#settle(batch.slice(0, middle));
      await this.#settle(batch.slice(middle));
    } else if (triesLeft > 0) {
      // What another worker did at the same moment is seen by now.
      await this.#settle(batch, triesLeft);
    } else {
      for (const { reject } of batch) reject(error);
    }
  }
}

function answer<Order, Outcome>({ resolve, reject }: Waiting<Order, Outcome>, outcome: Outcome | Error | undefined): void {
  if (outcome === undefined) reject(new Error('an order was written and came to nothing'));
  else if (outcome instanceof Error) reject(outcome);
  else resolve(outcome);
}

const isUnavailable = (error: unknown): boolean => error instanceof ServiceError && error.code === 'store_unavailable';

const tooMany = (): ServiceError =>
  new ServiceError('store_unavailable', 'Too many charges wait to be written. Try again shortly.', {
    retryAfterSeconds,
    internal: `${waitingMax} orders on wallets wait`,
  });
