/**
 * Whether this host has room for another machine, by its free resources and not
 * by a count: a browser may take 100 MB or 2 GB, and other programs run here.
 *
 * Without memory the kernel kills processes, so machines are refused. Without
 * idle processors everything is slower, so fewer boots run at once.
 */
import type { Clock } from '@berth/lib/clock.ts';
import { createHostReader, type HostReader, type HostReading } from '@berth/machines';

/** `memory_promised`: the machines that are starting will take the rest. */
type Shortage = 'memory' | 'memory_stalled' | 'memory_promised';

export interface PressureReading extends HostReading {
  /** Whether another machine may be started now. */
  admitting: boolean;
  /** Why not; null while admitting. */
  reason: Shortage | null;
  /** Whether fewer machines should boot at once. */
  processorsBusy: boolean;
}

interface PressureOptions {
  /** Memory that must stay available after a boot. */
  freeBytesMin: number;
  /** The expected memory of a new machine. */
  machineBytes: () => number;
  clock: Clock;
  read?: HostReader;
}

/** Memory reserved for a booting machine. Call one of the methods, once. */
export interface MemoryReservation {
  /** The machine runs; it takes the rest of its memory in the next seconds. */
  started(): void;
  failed(): void;
}

/** The kernel updates its averages every two seconds; a burst of creates reads once. */
const cacheMs = 250;
/** Share of the reservation left when the browser first answers; its first pages take the rest within seconds. */
const startedShare = 0.5;
const reservationDecayMs = 5000;
/** Hysteresis: a stall begins above the first and ends below the second value. */
const memoryStall = { begins: 10, ends: 5 };
/** Two processors with three tasks are at 90. */
const cpuStall = { begins: 80, ends: 60 };
/** Multiple of the floor. With more memory available, stalls come from cgroup limits, and refusing boots would not help. */
const stallCountsBelow = 2;

export class Pressure {
  readonly #options: PressureOptions;
  readonly #readHost: HostReader;
  readonly #reservations = new Set<{ bytes: number; startedMs: number | null }>();
  #host: HostReading = { memoryAvailableBytes: null, memoryStallPercent: null, cpuStallPercent: null };
  #readMs = -Infinity;
  #memoryStalled = false;
  #processorsBusy = false;

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#readHost = options.read ?? createHostReader();
  }

  read(): PressureReading {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#readMs >= cacheMs) this.#renew(nowMs);
    const reason = this.#shortage(nowMs);
    return { ...this.#host, admitting: reason === null, reason, processorsBusy: this.#processorsBusy };
  }

  /** How many more machines of the expected size fit into memory; null where it cannot be read. */
  machinesLeft(): number | null {
    const { memoryAvailableBytes } = this.read();
    if (memoryAvailableBytes === null) return null;
    const { freeBytesMin, machineBytes, clock } = this.#options;
    const left = memoryAvailableBytes - freeBytesMin - this.#reservedBytes(clock.monotonicMs());
    return Math.max(0, Math.floor(left / machineBytes()));
  }

  /** Reserves memory when a boot begins, because the host shows its use only seconds later. */
  reserve(): MemoryReservation {
    const reservation: { bytes: number; startedMs: number | null } = { bytes: this.#options.machineBytes(), startedMs: null };
    this.#reservations.add(reservation);
    return {
      started: () => {
        reservation.startedMs = this.#options.clock.monotonicMs();
      },
      failed: () => {
        this.#reservations.delete(reservation);
      },
    };
  }

  #renew(nowMs: number): void {
    this.#readMs = nowMs;
    this.#host = this.#readHost();
    this.#memoryStalled = isStalled(this.#host.memoryStallPercent, memoryStall, this.#memoryStalled);
    this.#processorsBusy = isStalled(this.#host.cpuStallPercent, cpuStall, this.#processorsBusy);
  }

  #shortage(nowMs: number): Shortage | null {
    const { freeBytesMin, machineBytes } = this.#options;
    const { memoryAvailableBytes } = this.#host;
    const left = memoryAvailableBytes === null ? null : memoryAvailableBytes - machineBytes();
    if (left !== null && left < freeBytesMin) return 'memory';
    if (this.#memoryStalled && (left === null || left < stallCountsBelow * freeBytesMin)) return 'memory_stalled';
    if (left !== null && left - this.#reservedBytes(nowMs) < freeBytesMin) return 'memory_promised';
    return null;
  }

  /** Reserved memory not taken yet: all of it until the machine runs, then decreasing. */
  #reservedBytes(nowMs: number): number {
    let bytes = 0;
    for (const reservation of this.#reservations) {
      const share = reservation.startedMs === null ? 1 : startedShare * (1 - (nowMs - reservation.startedMs) / reservationDecayMs);
      if (share > 0) bytes += reservation.bytes * share;
      else this.#reservations.delete(reservation);
    }
    return bytes;
  }
}

function isStalled(percent: number | null, { begins, ends }: { begins: number; ends: number }, was: boolean): boolean {
  return percent !== null && percent >= (was ? ends : begins);
}
