/** How long work holds up the event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { yardstickMs } from '../yardstick.ts';

/** Bounds of the whole corpus, in yardsticks: all tenants of a worker share its event loop. */
export const delayBounds = { p999: 5, max: 20 };

export interface LoopDelay {
  /** Processor time of the main thread in turns of the loop, in yardsticks: what a busy host takes is not the work's. */
  samples: number[];
  max: number;
  /** Duration of one yardstick on this machine, for reports. */
  yardstickMs: number;
  /** Longest delay by the clock, as monitorEventLoopDelay has it. */
  wallMaxMs: number;
}

const sampleMs = 5;

/** Samples the loop while the work runs. */
export async function measureDelay(work: () => Promise<unknown>): Promise<LoopDelay> {
  const samplesMs: number[] = [];
  const unitBefore = yardstickMs();
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    samplesMs.push((user + system) / 1000);
  }, sampleMs);
  const wall = monitorEventLoopDelay({ resolution: sampleMs });
  wall.enable();
  try {
    await work();
    // The last turn is sampled after it.
    await sleep(2 * sampleMs);
  } finally {
    wall.disable();
    clearInterval(timer);
  }
  const unit = Math.max(unitBefore, yardstickMs());
  const samples = samplesMs.map((ms) => ms / unit);
  return { samples, max: Math.max(0, ...samples), yardstickMs: unit, wallMaxMs: wall.max / 1e6 };
}

/** Maximum measures of work above the lower bound: a garbage collection, or a neighbour of the core, may have fallen into one. */
const measuresMax = 12;
/** Wait before each further measure, longer each time: a neighbour may take caches and clock rate for seconds. */
const waitMs = 200;

/** Samples the loop while the work runs; returns the shortest of several measures where the first is above the lower bound. */
export async function measureLeastDelay(work: () => Promise<unknown>): Promise<LoopDelay> {
  let least = await measureDelay(work);
  for (let n = 1; n < measuresMax && least.max > delayBounds.p999; n += 1) {
    await sleep(n * waitMs);
    const next = await measureDelay(work);
    if (next.max < least.max) least = next;
  }
  return least;
}

export const describeDelay = ({ max, yardstickMs: unit, wallMaxMs }: LoopDelay): string =>
  `${max.toFixed(1)} yardsticks of ${unit.toFixed(0)} ms at most, ${wallMaxMs.toFixed(0)} ms by the clock`;

/** Long turns that the percentile leaves out at least: a slow machine takes fewer samples of the same work, and of as many long turns. */
const leftOutMin = 3;

/** The 99.9th percentile; of fewer than three thousand samples, what all but three are below. */
export function p999Of(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.ceil(sorted.length * 0.999), sorted.length - leftOutMin) - 1] ?? 0;
}
