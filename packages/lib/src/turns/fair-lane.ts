import { FairQueue } from './fair-queue.ts';
import { LaneFullError, LaneTimeoutError } from './lanes.ts';

interface FairLaneBounds {
  /** Maximum concurrent runs. */
  width: number;
  /** Maximum concurrent runs of one owner. Below `width`, so that no owner ever holds all slots. */
  ownerWidth: number;
  waitingMax: number;
  /** Maximum size of all waiting callers together, in the unit of `FairLaneCall.size`. */
  waitingSizeMax: number;
  waitMsMax: number;
}

/** Maximum share of one owner in the waiting places, and in their size. */
const ownerShareMax = 1 / 2;

export interface FairLaneCall {
  owner: string;
  /** What the caller holds in memory while it waits. */
  size: number;
  signal: AbortSignal;
}

interface Waiter extends FairLaneCall {
  start: () => void;
}

/** Runs the work of many owners, a few at a time, fair between owners: see `FairQueue`. */
export class FairLane {
  readonly #bounds: FairLaneBounds;
  readonly #queue = new FairQueue<Waiter>();
  readonly #waiting = new Set<Waiter>();
  /** Runs in progress by owner; owners without any are absent. */
  readonly #running = new Map<string, number>();

  constructor(bounds: FairLaneBounds) {
    this.#bounds = bounds;
  }

  /** @throws LaneFullError, LaneTimeoutError, the signal's reason, or what `work` throws */
  async run<T>(call: FairLaneCall, work: () => Promise<T>): Promise<T> {
    const { owner, signal } = call;
    signal.throwIfAborted();
    if (this.#hasSlot(owner)) this.#hold(owner);
    else await this.#wait(call);
    try {
      return await work();
    } finally {
      this.#release(owner);
    }
  }

  /** Nobody of another owner is overtaken: a waiting caller with a free slot would run already. */
  #hasSlot(owner: string): boolean {
    return this.#runningCount() < this.#bounds.width && this.#held(owner) < this.#bounds.ownerWidth;
  }

  #wait(call: FairLaneCall): Promise<void> {
    const { owner, signal } = call;
    this.#rejectWhenFull(call);
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        this.#waiting.delete(waiter);
      };
      const leave = (error: Error) => {
        done();
        this.#queue.remove(owner, waiter);
        reject(error);
      };
      const waiter: Waiter = {
        ...call,
        start: () => {
          done();
          resolve();
        },
      };
      const aborted = () => leave(signal.reason as Error);
      const timer = setTimeout(() => leave(new LaneTimeoutError(owner)), this.#bounds.waitMsMax);
      signal.addEventListener('abort', aborted, { once: true });
      this.#waiting.add(waiter);
      this.#queue.push(owner, waiter);
    });
  }

  #rejectWhenFull({ owner, size }: FairLaneCall): void {
    const { waitingMax, waitingSizeMax } = this.#bounds;
    const all = sumOf(this.#waiting);
    const own = sumOf([...this.#waiting].filter((waiter) => waiter.owner === owner));
    const isFull = all.count >= waitingMax || all.size + size > waitingSizeMax;
    const hasShare = own.count === 0 || (own.count < waitingMax * ownerShareMax && own.size + size <= waitingSizeMax * ownerShareMax);
    if (isFull || !hasShare) throw new LaneFullError(owner);
  }

  #held(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  #runningCount(): number {
    let count = 0;
    for (const each of this.#running.values()) count += each;
    return count;
  }

  #hold(owner: string): void {
    this.#running.set(owner, this.#held(owner) + 1);
  }

  #release(owner: string): void {
    const left = this.#held(owner) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    while (this.#runningCount() < this.#bounds.width) {
      const next = this.#queue.take((each) => this.#held(each), this.#bounds.ownerWidth);
      if (!next) return;
      this.#hold(next.owner);
      next.start();
    }
  }
}

const sumOf = (waiters: Iterable<Waiter>): { count: number; size: number } => {
  let [count, size] = [0, 0];
  for (const waiter of waiters) {
    count += 1;
    size += waiter.size;
  }
  return { count, size };
};
