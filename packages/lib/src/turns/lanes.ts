/** The queue of the lane is full. */
export class LaneFullError extends Error {}
/** The caller waited longer than `waitMsMax`. */
export class LaneTimeoutError extends Error {}

interface LaneBounds {
  /** Concurrent runs of one key. */
  width: number;
  waitingMax: number;
  waitMsMax: number;
}

interface Lane {
  running: number;
  waiters: Waiter[];
}

interface Waiter {
  start: () => void;
  leave: (error: Error) => void;
}

/**
 * Runs the work of one key one at a time (or `width` at a time), in the order
 * it came.
 *
 * Two drive calls on one session would race for one page, so they share a
 * lane; two sessions never wait for each other. A lane queues at most
 * `waitingMax` callers, each for at most `waitMsMax`. A caller whose signal
 * aborts leaves the queue at once.
 */
export class Lanes {
  readonly bounds: LaneBounds;
  /** Called at the begin of each run with how long it waited. */
  onTurn: (waitedMs: number) => void = () => undefined;
  /** Only keys with running work. */
  #lanes = new Map<string, Lane>();

  constructor(bounds: LaneBounds) {
    this.bounds = bounds;
  }

  get size(): number {
    return this.#lanes.size;
  }

  /** @throws LaneFullError, LaneTimeoutError, the signal's reason, or what `work` throws */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const lane = this.#lanes.get(key) ?? { running: 0, waiters: [] };
    this.#lanes.set(key, lane);
    const sinceMs = performance.now();
    if (lane.running < this.bounds.width) lane.running += 1;
    else await this.#wait(key, lane.waiters, signal);
    try {
      this.onTurn(performance.now() - sinceMs);
      return await work();
    } finally {
      this.#next(key, lane);
    }
  }

  #wait(key: string, waiters: Waiter[], signal: AbortSignal): Promise<void> {
    if (waiters.length >= this.bounds.waitingMax) throw new LaneFullError(key);
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        const index = waiters.indexOf(waiter);
        if (index >= 0) waiters.splice(index, 1);
      };
      const waiter: Waiter = {
        start: () => {
          done();
          resolve();
        },
        leave: (error) => {
          done();
          reject(error);
        },
      };
      const aborted = () => waiter.leave(signal.reason as Error);
      const timer = setTimeout(() => waiter.leave(new LaneTimeoutError(key)), this.bounds.waitMsMax);
      signal.addEventListener('abort', aborted, { once: true });
      waiters.push(waiter);
    });
  }

  /** Passes the slot directly to the next waiter, so that no new caller can overtake it. */
  #next(key: string, lane: Lane): void {
    const next = lane.waiters[0];
    if (next) return next.start();
    lane.running -= 1;
    if (lane.running === 0) this.#lanes.delete(key);
  }
}
