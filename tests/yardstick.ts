/**
 * What tests measure time with. Milliseconds say how fast a machine is, so bounded work is counted; where it cannot be,
 * its time is compared with that of a fixed piece of work, which the same process does in the same run.
 */
import assert from 'node:assert/strict';

const rows = JSON.stringify(Array.from({ length: 6000 }, (_, id) => ({ id, name: `Bread "${id}"`, tags: ['a', 'b'], price: id / 3 })));
const runs = 5;
let checksum = 0;

/** Parsing, short-lived values, strings and single characters, as in the work that is compared with it. Some ten milliseconds. */
function fixedWork(): void {
  const text = JSON.stringify(JSON.parse(rows));
  for (let at = 0; at < text.length; at += 1) checksum = (checksum * 31 + text.charCodeAt(at)) | 0;
}

const processorMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Processor time of this thread for one yardstick now. Over several runs, as the system counts in steps of four milliseconds. */
export function yardstickMs(): number {
  const startMs = processorMs();
  for (let run = 0; run < runs; run += 1) fixedWork();
  return (processorMs() - startMs) / runs;
}

// The first runs are slower: they are compiled.
yardstickMs();

/** A neighbour that takes caches and clock rate slows what comes within a second of it alike. */
const validMs = 1000;
let recent = { ms: 0, atMs: -Infinity };

function recentYardstickMs(): number {
  if (performance.now() - recent.atMs > validMs) recent = { ms: yardstickMs(), atMs: performance.now() };
  return recent.ms;
}

/** Processor time of this thread that work takes, in yardsticks: the least of some tries, where it may be done again. */
export async function yardsticksOf(work: () => unknown, { tries = 1 } = {}): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < tries; i += 1) {
    const before = recentYardstickMs();
    const startMs = processorMs();
    await work();
    const tookMs = processorMs() - startMs;
    least = Math.min(least, tookMs / Math.max(before, recentYardstickMs()));
  }
  return least;
}

/** A yardstick by the clock on two idle cores. A machine on which it takes longer gets as much more time. */
const idleClockMs = 10;
/** Time for which a yardstick is taken by the clock: a shared processor stands still for a tenth of a second at a time. */
const clockSampleMs = 1000;

/** How many times slower than two idle cores of the usual speed the runner has found this machine when it began; 1 by hand. */
export const knownSlowness = Number(process.env['BERTH_TEST_SLOWNESS'] ?? 1);

/** How many times slower this machine is now, by the clock, than two idle cores; 1 for a faster one. Takes a second. */
export function clockSlowness(): number {
  const startMs = performance.now();
  let count = 0;
  for (; performance.now() - startMs < clockSampleMs; count += 1) fixedWork();
  return Math.max(1, (performance.now() - startMs) / count / idleClockMs);
}

/**
 * Asserts that what began at `sinceMs`, by `performance.now()`, has not waited for a timeout: it took less than `ms`, or a machine
 * that is as much slower than an idle one explains the rest.
 */
export function assertPrompt(sinceMs: number, ms: number, what?: string): void {
  assertShort(performance.now() - sinceMs, ms, what);
}

/** Asserts that a duration is no timeout: it is less than `ms`, or a slower machine explains the rest. */
export function assertShort(tookMs: number, ms: number, what = 'it took as long as a timeout'): void {
  if (tookMs < ms) return;
  const slowness = clockSlowness();
  assert.ok(tookMs < ms * slowness, `${what}: ${Math.round(tookMs)} ms, on a machine ${slowness.toFixed(1)} times as slow`);
}
