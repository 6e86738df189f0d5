import type { Isolation, Vm } from '../runtime/runtime.ts';

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
