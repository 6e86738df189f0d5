/**
 * Whether this host has room for another machine, by what is there and not by
 * a count: a browser may take 100 MB or 2 GB, and others run here as well.
 *
 * Memory that runs out kills somebody, so for want of it a machine is refused.
 * Processor that runs out makes everybody slower, so for want of it fewer are
 * started at once.
 */
import type { Clock } from '../lib/clock.ts';
import { createHostReader, type HostReader, type HostReading } from '../runtime/runtime.ts';

/** `memory_promised`: there will be too little once those that are starting have taken theirs. */
export type Shortage = 'memory' | 'memory_stalled' | 'memory_promised';

export interface PressureReading extends HostReading {
  /** Whether another machine may be started now. */
  admitting: boolean;
  /** What there is too little of. */
  reason: Shortage | null;
  /** Processors are so sought after that fewer machines should be started at once. */
  processorsBusy: boolean;
}

export interface PressureOptions {
  /** What must stay available after a machine was started. */
  freeBytesMin: number;
  /** What a new machine is expected to take. */
  machineBytes: () => number;
  clock: Clock;
  read?: HostReader;
}

/** Memory that is set aside for a machine that is being started. Call one of them, once. */
export interface Promised {
  /** The machine lives: what it has not taken yet it takes in the next seconds. */
  started(): void;
  failed(): void;
}

/** The kernel renews its averages every two seconds; a burst of creates looks once. */
const lookMs = 250;
/** A browser that answers for the first time has taken most of what it will; the rest goes with its first pages, within seconds. */
const startedShare = 0.5;
const settleMs = 5000;
/** Above the first it has begun, below the second it is over: between them what was said last holds, so that nothing flaps. */
const memoryStall = { begins: 10, ends: 5 };
/** Two processors with three tasks are at 90: it takes more than a lively moment. */
const cpuStall = { begins: 80, ends: 60 };
/** With more than so many times the floor available, those who stall do so within limits of their own, and starting nothing would not help them. */
const stallCountsBelow = 2;

export class Pressure {
  readonly #options: PressureOptions;
  readonly #read: HostReader;
  readonly #promises = new Set<{ bytes: number; startedMs: number | null }>();
  #host: HostReading = { memoryAvailableBytes: null, memoryStallPercent: null, cpuStallPercent: null };
  #readMs = -Infinity;
  #memoryStalled = false;
  #processorsBusy = false;

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#read = options.read ?? createHostReader();
  }

  look(): PressureReading {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#readMs >= lookMs) this.#renew(nowMs);
    const reason = this.#shortage(nowMs);
    return { ...this.#host, admitting: reason === null, reason, processorsBusy: this.#processorsBusy };
  }

  /** To be called when a machine's start begins: the host shows what it takes only seconds later. */
  promise(): Promised {
    const promise: { bytes: number; startedMs: number | null } = { bytes: this.#options.machineBytes(), startedMs: null };
    this.#promises.add(promise);
    return {
      started: () => {
        promise.startedMs = this.#options.clock.monotonicMs();
      },
      failed: () => {
        this.#promises.delete(promise);
      },
    };
  }

  #renew(nowMs: number): void {
    this.#readMs = nowMs;
    this.#host = this.#read();
    this.#memoryStalled = isStalled(this.#host.memoryStallPercent, memoryStall, this.#memoryStalled);
    this.#processorsBusy = isStalled(this.#host.cpuStallPercent, cpuStall, this.#processorsBusy);
  }

  #shortage(nowMs: number): Shortage | null {
    const { freeBytesMin, machineBytes } = this.#options;
    const { memoryAvailableBytes } = this.#host;
    const left = memoryAvailableBytes === null ? null : memoryAvailableBytes - machineBytes();
    if (left !== null && left < freeBytesMin) return 'memory';
    if (this.#memoryStalled && (left === null || left < stallCountsBelow * freeBytesMin)) return 'memory_stalled';
    if (left !== null && left - this.#promisedBytes(nowMs) < freeBytesMin) return 'memory_promised';
    return null;
  }

  /** What machines have been promised and have not taken: all of it until they live, then less and less. */
  #promisedBytes(nowMs: number): number {
    let bytes = 0;
    for (const promise of this.#promises) {
      const share = promise.startedMs === null ? 1 : startedShare * (1 - (nowMs - promise.startedMs) / settleMs);
      if (share > 0) bytes += promise.bytes * share;
      else this.#promises.delete(promise);
    }
    return bytes;
  }
}

function isStalled(percent: number | null, { begins, ends }: { begins: number; ends: number }, was: boolean): boolean {
  return percent !== null && percent >= (was ? ends : begins);
}
