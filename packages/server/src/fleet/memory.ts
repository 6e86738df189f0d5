import type { Clock } from '../lib/clock.ts';
import { orAbort } from '../lib/or-abort.ts';
import type { Machine } from './machine.ts';

/** What is younger is told again as it is. */
const freshMs = 5000;
/** Whoever asks waits no longer; what was not read by then is told as it last was. */
const readMsMax = 1000;
const readsAtOnce = 4;

interface Reading {
  bytes: number | null;
  readMs: number;
}

/**
 * What each machine takes of the memory of this host. To read it is to walk
 * the page tables of all its processes, so that is not done for everyone who
 * asks, nor for all machines at once.
 */
export class MemoryReadings {
  readonly #clock: Clock;
  readonly #readings = new Map<string, Reading>();
  #running: Promise<void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By machine; null where it could not be read. */
  async read(machines: readonly Machine[]): Promise<ReadonlyMap<string, number | null>> {
    this.#running ??= this.#renew(machines).finally(() => (this.#running = null));
    await this.#running;
    return new Map(machines.map(({ id }) => [id, this.#readings.get(id)?.bytes ?? null]));
  }

  async #renew(machines: readonly Machine[]): Promise<void> {
    this.#forgetAllBut(machines);
    const signal = AbortSignal.timeout(readMsMax);
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

  #forgetAllBut(machines: readonly Machine[]): void {
    const ids = new Set(machines.map(({ id }) => id));
    for (const id of this.#readings.keys()) if (!ids.has(id)) this.#readings.delete(id);
  }
}
