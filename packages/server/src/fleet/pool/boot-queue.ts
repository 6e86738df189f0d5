/**
 * Queues the machine boots that sessions wait for. Too many concurrent boots
 * slow down each other and all running sessions: a few run at once, the rest
 * wait in a bounded queue that is fair by owner, and callers that cannot be
 * served get `no_capacity` with `Retry-After`.
 */
import { ServiceError } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { FairQueue, queueLimit } from '@berth/lib/turns/fair-queue.ts';
import type { Pressure, PressureReading, MemoryReservation } from './pressure.ts';

export interface BootQueueOptions {
  /** Concurrent boots while the processors are not busy. */
  width: number;
  waitingMax: number;
  waitMsMax: number;
  /** How long a caller waits while memory is short. Shorter than `waitMsMax`, because memory may not become free. */
  memoryWaitMsMax?: number;
  pressure: Pressure;
  clock: Clock;
}

interface Waiter {
  owner: string;
  sinceMs: number;
  start: (reservation: MemoryReservation) => void;
  reject: (error: Error) => void;
}

/** Why a caller is rejected, in `details.reason`. */
type RejectionReason = 'too_many_starting' | 'processors_busy' | 'memory_low';

/** Share of the width while processors are busy, so that running sessions keep priority. */
const busyWidthShare = 1 / 4;
/** The host sends no signal when it has room again. */
const pollMs = 250;
const memoryWaitMs = 3000;
/** Assumed time per boot before the first was measured. */
const turnMsDefault = 500;
/** Weight of the latest boot in the moving average, which covers some ten boots. */
const latestShare = 0.2;
const retryAfterSecondsMax = 60;
/** Memory becomes free when a session ends, which the queue cannot predict. */
const memoryRetryAfterSeconds = 10;

const messages: Record<RejectionReason, string> = {
  too_many_starting: 'Too many browsers are starting on this worker. Try again in a moment.',
  processors_busy: 'The processors of this worker are too busy to start more browsers. Try again in a moment.',
  memory_low: 'Not enough free memory on this worker to start another browser. Try again in a moment, or end a session.',
};

export class BootQueue {
  readonly #options: Required<BootQueueOptions>;
  readonly #queue = new FairQueue<Waiter>();
  readonly #waiters = new Set<Waiter>();
  /** Boots in progress by owner; owners without any are absent. */
  readonly #running = new Map<string, number>();
  /** Since when memory has been short without interruption. */
  #shortSinceMs: number | null = null;
  /** Average time between two boots while callers wait. */
  #turnMs = turnMsDefault;
  #lastTurnMs: number | null = null;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: BootQueueOptions) {
    this.#options = { memoryWaitMsMax: memoryWaitMs, ...options };
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  get running(): number {
    let running = 0;
    for (const count of this.#running.values()) running += count;
    return running;
  }

  /** Estimated seconds until a caller rejected now would get a turn. */
  retryAfterSeconds(): number {
    const seconds = Math.ceil(((this.waiting + 1) * this.#turnMs) / 1000);
    return Math.min(retryAfterSecondsMax, Math.max(1, seconds));
  }

  /** Runs `work` when the owner's turn comes. @throws ServiceError no_capacity, the signal's reason, or what `work` throws */
  async run<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    this.#rejectWhenFull(owner);
    const reservation = await this.#acquire(owner, signal);
    try {
      const result = await work();
      reservation.started();
      return result;
    } catch (error) {
      reservation.failed();
      throw error;
    } finally {
      this.#release(owner);
    }
  }

  #rejectWhenFull(owner: string): void {
    const { waitingMax, pressure } = this.#options;
    const isQueued = [...this.#waiters].some((waiter) => waiter.owner === owner);
    if (this.waiting >= queueLimit(waitingMax, isQueued)) throw this.#noCapacity(pressure.read());
  }

  #acquire(owner: string, signal: AbortSignal): Promise<MemoryReservation> {
    return new Promise((resolve, reject) => {
      const done = () => {
        signal.removeEventListener('abort', aborted);
        this.#waiters.delete(waiter);
        this.#queue.remove(owner, waiter);
      };
      const waiter: Waiter = {
        owner,
        sinceMs: this.#options.clock.monotonicMs(),
        start: (reservation) => {
          done();
          resolve(reservation);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      const aborted = () => {
        waiter.reject(signal.reason as Error);
        this.#pollWhileNeeded();
      };
      signal.addEventListener('abort', aborted, { once: true });
      this.#waiters.add(waiter);
      this.#queue.push(owner, waiter);
      this.#fill();
    });
  }

  #release(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#fill();
  }

  /** Starts as many waiters as there is room for, and rejects those that waited too long. */
  #fill(): void {
    const { pressure, width, clock } = this.#options;
    while (this.waiting > 0) {
      const reading = pressure.read();
      const isShort = reading.reason === 'memory' || reading.reason === 'memory_stalled';
      this.#shortSinceMs = isShort ? (this.#shortSinceMs ?? clock.monotonicMs()) : null;
      const hasSlot = this.running < (reading.processorsBusy ? Math.max(1, Math.floor(width * busyWidthShare)) : width);
      const next = hasSlot && reading.admitting ? this.#queue.take((owner) => this.#running.get(owner) ?? 0) : undefined;
      if (!next) {
        this.#rejectOverdue(reading);
        break;
      }
      this.#running.set(next.owner, (this.#running.get(next.owner) ?? 0) + 1);
      next.start(pressure.reserve());
      this.#recordTurn();
    }
    this.#pollWhileNeeded();
  }

  #rejectOverdue(reading: PressureReading): void {
    const { waitMsMax, memoryWaitMsMax, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const isShort = this.#shortSinceMs !== null && nowMs - this.#shortSinceMs >= memoryWaitMsMax;
    // The latest first: the Retry-After shrinks with the queue, so that retries arrive in the original order.
    for (const waiter of [...this.#waiters].toReversed()) {
      if (nowMs - waiter.sinceMs >= (isShort ? memoryWaitMsMax : waitMsMax)) waiter.reject(this.#noCapacity(reading));
    }
  }

  #recordTurn(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#lastTurnMs !== null) this.#turnMs += latestShare * (nowMs - this.#lastTurnMs - this.#turnMs);
    this.#lastTurnMs = nowMs;
  }

  #pollWhileNeeded(): void {
    if (this.waiting > 0) {
      this.#lastTurnMs ??= this.#options.clock.monotonicMs();
      this.#poll ??= setInterval(() => this.#fill(), pollMs);
      return;
    }
    this.#lastTurnMs = null;
    this.#shortSinceMs = null;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #noCapacity(reading: PressureReading): ServiceError {
    const reason = toRejectionReason(reading);
    const retryAfterSeconds = Math.max(this.retryAfterSeconds(), reason === 'memory_low' ? memoryRetryAfterSeconds : 1);
    const { memoryAvailableBytes, memoryStallPercent, cpuStallPercent } = reading;
    const host = JSON.stringify({ memoryAvailableBytes, memoryStallPercent, cpuStallPercent });
    const internal = `${this.waiting} waiting, ${this.running} starting; ${host}`;
    return new ServiceError('no_capacity', messages[reason], { retryAfterSeconds, details: { reason }, internal });
  }
}

const toRejectionReason = ({ reason, processorsBusy }: PressureReading): RejectionReason => {
  if (reason !== null) return 'memory_low';
  return processorsBusy ? 'processors_busy' : 'too_many_starting';
};
