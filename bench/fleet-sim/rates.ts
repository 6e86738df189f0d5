/**
 * Limits per minute in simulated time: each worker counts by its real code, and the workers exchange their counts as often as
 * the real ones. A table stands for that of the database, and its rows change at once.
 */
import { exchangeMs, RateLimiter } from '../../packages/server/testing/accounts/rates.ts';
import { seeded } from '@berth/lib/testing/seeded.ts';

/** The counts of a caller that all workers have stored: the sum, and the end of the window that ends first. */
interface StoredCounts {
  byWorker: Map<number, number>;
  calls: number;
  endsMs: number;
}

/** Callers that send three times what they may, through a proxy that chooses any worker. */
const callers = 20;
const perMinute = 600;
const offered = 3;
const minuteMs = 60_000;

/** Returns the calls of each caller that passed in a minute, as a share of the limit: 1 is exact. */
export async function simulateRates({ workers, seed }: { workers: number; seed: number }): Promise<number[]> {
  const { now } = Date;
  const { setTimeout } = globalThis;
  const clock = { nowMs: 0 };
  // The limiters end their windows by a timer: none ends in the first minute. Nothing else runs meanwhile.
  Date.now = () => clock.nowMs;
  globalThis.setTimeout = (() => ({ unref: () => undefined })) as unknown as typeof setTimeout;
  try {
    return await run(workers, seeded(seed), clock);
  } finally {
    Date.now = now;
    globalThis.setTimeout = setTimeout;
  }
}

interface Worker {
  index: number;
  limiter: RateLimiter;
}

/** The first minute of all callers. */
async function run(count: number, random: () => number, clock: { nowMs: number }): Promise<number[]> {
  const workers = Array.from({ length: count }, (_, index): Worker => ({ index, limiter: new RateLimiter(perMinute, () => count > 1) }));
  /** Those that exchange in the same millisecond of their interval. */
  const turns = Map.groupBy(workers, () => Math.floor(random() * exchangeMs));
  const table = new Map<string, StoredCounts>();
  const passed = Array<number>(callers).fill(0);
  const callsPerMs = (callers * perMinute * offered) / minuteMs;
  for (let due = 0; clock.nowMs < minuteMs; clock.nowMs += 1) {
    for (const worker of turns.get(clock.nowMs % exchangeMs) ?? []) await exchange(worker, table);
    for (due += callsPerMs; due >= 1; due -= 1) {
      const caller = Math.floor(random() * callers);
      const { limiter } = workers[Math.floor(random() * count)]!;
      const isPassed = await limiter.consume(String(caller)).then(
        () => true,
        () => false,
      );
      if (isPassed) passed[caller]! += 1;
    }
  }
  return passed.map((calls) => calls / perMinute);
}

/** Exchanges counts as `Rates` and its statement do: writes changes, and reads what the others have counted of the same callers. */
async function exchange({ index, limiter }: Worker, table: Map<string, StoredCounts>): Promise<void> {
  const nowMs = Date.now();
  for (const { key, calls, changed, secondsLeft } of limiter.take()) {
    const stored = table.get(key) ?? { byWorker: new Map<number, number>(), calls: 0, endsMs: Infinity };
    table.set(key, stored);
    const own = stored.byWorker.get(index);
    const others = stored.calls - (own ?? 0);
    const hasOthers = stored.byWorker.size > (own === undefined ? 0 : 1);
    if (hasOthers) await limiter.add(key, { calls: others, secondsLeft: (stored.endsMs - nowMs) / 1000 });
    if (!changed) continue;
    stored.byWorker.set(index, calls);
    stored.calls = others + calls;
    stored.endsMs = Math.min(stored.endsMs, nowMs + secondsLeft * 1000);
  }
}
