/**
 * The starts of machines that somebody waits for. A hundred browsers that are
 * started at once take longer than a hundred in a row, and everybody in a
 * session feels it: so few start at once, the rest wait in a bounded queue,
 * fair by owner, and who cannot be served is told so and when to come again.
 */
import { ServiceError } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { Pressure, PressureReading, Promised } from './pressure.ts';

export interface BootQueueOptions {
  /** Machines that are started at once, while there is processor for it. */
  width: number;
  waitingMax: number;
  waitMsMax: number;
  /** How long a caller waits for memory that is short: a session may end. Far less than for a turn, which is sure to come. */
  memoryWaitMsMax?: number;
  pressure: Pressure;
  clock: Clock;
}

interface Waiter {
  owner: string;
  sinceMs: number;
  start: (promised: Promised) => void;
  leave: (error: Error) => void;
}

/** Why a caller is turned away, in `details.reason`. */
type Refusal = 'too_many_starting' | 'processors_busy' | 'memory_low';

/** What is left of the width while processors are busy: those in sessions have them more than those who start. */
const busyPart = 1 / 4;
/** The host tells nobody when it has room again. */
const pollMs = 250;
const memoryWaitMs = 3000;
/** This part of the queue takes nothing from owners who have something in it already: a burst leaves others a place. */
const reservedPart = 1 / 8;
/** What a start is thought to take until one was seen. */
const firstTurnMs = 500;
/** The weight of the latest turn in their average: some ten turns are remembered. */
const latestShare = 0.2;
const retryAfterSecondsMax = 60;
/** Memory comes back when somebody ends a session, which no queue foresees. */
const memoryRetryAfterSeconds = 10;

const messages: Record<Refusal, string> = {
  too_many_starting: 'Too many browsers are starting on this worker. Try again in a moment.',
  processors_busy: 'The processors of this worker are too busy to start more browsers. Try again in a moment.',
  memory_low: 'Too little memory is free on this worker to start another browser. Try again in a moment, or end a session.',
};

export class BootQueue {
  readonly #options: Required<BootQueueOptions>;
  readonly #queue = new FairQueue<Waiter>();
  readonly #waiters = new Set<Waiter>();
  /** Starts under way by owner; an owner without any is not here. */
  readonly #running = new Map<string, number>();
  /** Since when memory has been short without a break. */
  #shortSinceMs: number | null = null;
  /** Average time from one turn to the next while somebody waits. */
  #turnMs = firstTurnMs;
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

  /** When a caller who is turned away now would have a turn, as far as the last turns tell. */
  retryAfterSeconds(): number {
    const seconds = Math.ceil(((this.waiting + 1) * this.#turnMs) / 1000);
    return Math.min(retryAfterSecondsMax, Math.max(1, seconds));
  }

  /** Throws ServiceError no_capacity, the signal's reason, or what `work` throws. */
  async run<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    this.#refuseWhenFull(owner);
    const promised = await this.#turn(owner, signal);
    try {
      const result = await work();
      promised.started();
      return result;
    } catch (error) {
      promised.failed();
      throw error;
    } finally {
      this.#giveBack(owner);
    }
  }

  #refuseWhenFull(owner: string): void {
    const { waitingMax, pressure } = this.#options;
    const isQueued = [...this.#waiters].some((waiter) => waiter.owner === owner);
    const reserved = isQueued ? Math.floor(waitingMax * reservedPart) : 0;
    if (this.waiting >= waitingMax - reserved) throw this.#refusal(pressure.look());
  }

  #turn(owner: string, signal: AbortSignal): Promise<Promised> {
    return new Promise((resolve, reject) => {
      const done = () => {
        signal.removeEventListener('abort', aborted);
        this.#waiters.delete(waiter);
        this.#queue.remove(owner, waiter);
      };
      const waiter: Waiter = {
        owner,
        sinceMs: this.#options.clock.monotonicMs(),
        start: (promised) => {
          done();
          resolve(promised);
        },
        leave: (error) => {
          done();
          reject(error);
        },
      };
      const aborted = () => {
        waiter.leave(signal.reason as Error);
        this.#pollWhileNeeded();
      };
      signal.addEventListener('abort', aborted, { once: true });
      this.#waiters.add(waiter);
      this.#queue.push(owner, waiter);
      this.#fill();
    });
  }

  #giveBack(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#fill();
  }

  /** Gives turns to as many as there is room for, and tells those who have waited too long. */
  #fill(): void {
    const { pressure, width, clock } = this.#options;
    while (this.waiting > 0) {
      const reading = pressure.look();
      const isShort = reading.reason === 'memory' || reading.reason === 'memory_stalled';
      this.#shortSinceMs = isShort ? (this.#shortSinceMs ?? clock.monotonicMs()) : null;
      const hasPlace = this.running < (reading.processorsBusy ? Math.max(1, Math.floor(width * busyPart)) : width);
      const next = hasPlace && reading.admitting ? this.#queue.take((owner) => this.#running.get(owner) ?? 0) : undefined;
      if (!next) {
        this.#turnAway(reading);
        break;
      }
      this.#running.set(next.owner, (this.#running.get(next.owner) ?? 0) + 1);
      next.start(pressure.promise());
      this.#noteTurn();
    }
    this.#pollWhileNeeded();
  }

  #turnAway(reading: PressureReading): void {
    const { waitMsMax, memoryWaitMsMax, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const isShort = this.#shortSinceMs !== null && nowMs - this.#shortSinceMs >= memoryWaitMsMax;
    // The latest first: the longer the queue, the later who leaves it is told to come again, so that they come again in turn.
    for (const waiter of [...this.#waiters].toReversed()) {
      if (nowMs - waiter.sinceMs >= (isShort ? memoryWaitMsMax : waitMsMax)) waiter.leave(this.#refusal(reading));
    }
  }

  #noteTurn(): void {
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

  #refusal(reading: PressureReading): ServiceError {
    const reason = refusalFor(reading);
    const retryAfterSeconds = Math.max(this.retryAfterSeconds(), reason === 'memory_low' ? memoryRetryAfterSeconds : 1);
    const { memoryAvailableBytes, memoryStallPercent, cpuStallPercent } = reading;
    const internal = `${this.waiting} wait, ${this.running} start; ${JSON.stringify({ memoryAvailableBytes, memoryStallPercent, cpuStallPercent })}`;
    return new ServiceError('no_capacity', messages[reason], { retryAfterSeconds, details: { reason }, internal });
  }
}

const refusalFor = ({ reason, processorsBusy }: PressureReading): Refusal => {
  if (reason !== null) return 'memory_low';
  return processorsBusy ? 'processors_busy' : 'too_many_starting';
};
