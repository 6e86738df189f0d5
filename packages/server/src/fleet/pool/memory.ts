import { abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import type { Machine } from './machine.ts';
import type { Isolation, Vm } from '@berth/machines';

/** Younger readings are reused. */
const freshMs = 5000;
/** Callers wait no longer; machines not read by then keep their last reading. */
const readMsMax = 1000;
const readsAtOnce = 4;

interface Reading {
  bytes: number | null;
  readMs: number;
}

/**
 * Caches each machine's memory. A reading walks the page tables of all its
 * processes, so it is shared by callers and limited in concurrency.
 */
export class MemoryReadings {
  readonly #clock: Clock;
  readonly #readings = new Map<string, Reading>();
  #running: Promise<void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes by machine id; null when unknown. */
  async read(machines: readonly Machine[]): Promise<ReadonlyMap<string, number | null>> {
    this.#running ??= this.#renew(machines).finally(() => (this.#running = null));
    await this.#running;
    return new Map(machines.map(({ id }) => [id, this.#readings.get(id)?.bytes ?? null]));
  }

  async #renew(machines: readonly Machine[]): Promise<void> {
    this.#deleteAllExcept(machines);
    const signal = abortAfter(readMsMax);
    const nowMs = this.#clock.monotonicMs();
    const due = machines.filter(({ id }) => nowMs - (this.#readings.get(id)?.readMs ?? -Infinity) >= freshMs);
    const lane = async (): Promise<void> => {
      for (let next = due.shift(); next && !signal.aborted; next = due.shift()) await this.#readOne(next, signal);
    };
    await Promise.all(Array.from({ length: readsAtOnce }, lane));
  }

  async #readOne({ id, vm }: Machine, signal: AbortSignal): Promise<void> {
    const before = this.#readings.get(id)?.bytes ?? null;
    const bytes = await orAbort(vm.stats(), signal).then(
      ({ memoryBytes }) => Math.round(memoryBytes) || null,
      () => before,
    );
    this.#readings.set(id, { bytes, readMs: this.#clock.monotonicMs() });
  }

  #deleteAllExcept(machines: readonly Machine[]): void {
    const ids = new Set(machines.map(({ id }) => id));
    for (const id of this.#readings.keys()) if (!ids.has(id)) this.#readings.delete(id);
  }
}

/** An empty browser with one page; for a microVM the memory that it does not share with its template. */
const floorBytes: Record<Isolation, number> = { process: 256 * 1024 ** 2, microvm: 320 * 1024 ** 2 };
/** Reading a browser's memory takes the kernel some 10 ms. */
const sampleMax = 8;

/**
 * The expected memory of a new machine: the median of the running ones, and at
 * least that of an empty one.
 */
export class MachineBytes {
  readonly #floor: number;
  #expected: number;

  constructor(isolation: Isolation) {
    this.#floor = floorBytes[isolation];
    this.#expected = this.#floor;
  }

  get expected(): number {
    return this.#expected;
  }

  /** Samples some of the running machines. */
  async learn(machines: readonly Vm[]): Promise<void> {
    const step = Math.max(1, machines.length / sampleMax);
    const sample = Array.from({ length: Math.min(sampleMax, machines.length) }, (_, index) => machines[Math.floor(index * step)]);
    const sizes = await Promise.all(sample.map(async (vm) => (await vm?.stats().catch(() => undefined))?.memoryBytes ?? 0));
    // Ending machines report 0.
    const living = sizes.filter((bytes) => bytes > 0).sort((a, b) => a - b);
    this.#expected = Math.max(this.#floor, living[Math.floor(living.length / 2)] ?? 0);
  }
}
