/** Placements a second on one database: three workers that place sessions at once, each with reservations in the same rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../context.ts';
import { type Section, spread } from '../figures.ts';
import { beat } from '../../packages/server/testing/pool.ts';
import { createTestPlacement, type Placement } from '../../packages/server/testing/placement.ts';
import { buildInProcess } from '../in-process.ts';

const workerIds = ['wrk_a', 'wrk_b', 'wrk_c'];
const runsDefault = 6000;
/** Calls in progress at each worker. */
const atOnce = 10;
const perSecondMin = 500;

const sessionsMax = 1_000_000;
/** Room is reserved before the work is passed on where less than half of it is left, and soon after otherwise. */
const cases = { 'reserved before': sessionsMax * 0.6, 'reserved later': 0 };

interface Placed {
  perSecond: number;
  ms: number[];
  /** Placements of the worker with the fewest. */
  fewest: number;
}

export async function placement(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const { store, app } = await buildInProcess(bench.stage);
  const sessionsByWorker = (owner: string) => app.sessions.byWorker(owner);
  const placements = workerIds.map((workerId) => createTestPlacement({ workerId, store, sessionsByWorker }));
  for (const { reservations } of placements) reservations.start();
  const results: [string, Placed][] = [];
  for (const [name, sessions] of Object.entries(cases)) {
    bench.reportProgress(name);
    for (const workerId of workerIds) await beat(store, { workerId, sessionsMax, sessions });
    // The first ones connect and prepare their statements; rows are read again after a second.
    await place(placements, 500);
    await sleep(1000);
    results.push([name, await place(placements, runs)]);
  }
  for (const { reservations } of placements) await reservations.stop();
  return {
    name: `placement by ${workerIds.length} workers with ${atOnce} calls at once each`,
    columns: ['', 'n', 'a second', 'p50 / p95 / p99 ms'],
    rows: results.map(([name, { ms, perSecond }]) => [name, ms.length, perSecond, spread(ms)]),
    checks: results.flatMap(([name, { ms, perSecond, fewest }]) => [
      { what: `placements a second, ${name}`, measured: perSecond, target: perSecondMin, rule: 'at least', unit: '' },
      {
        what: `the worker with the fewest, ${name}, in % of an even share`,
        measured: (fewest * workerIds.length * 100) / ms.length,
        target: 80,
        rule: 'at least',
        unit: '%',
      },
    ]),
    notes: [],
  };
}

async function place(placements: readonly Placement[], count: number): Promise<Placed> {
  const ms: number[] = [];
  const firsts = new Map<string, number>();
  let left = count;
  const caller = async (each: Placement): Promise<void> => {
    for (; left > 0;) {
      left -= 1;
      const startMs = performance.now();
      const { workerIds: ids } = await each.candidates({ work: 'session', owner: 'bench', kind: 'headless', region: undefined });
      ms.push(performance.now() - startMs);
      const [first = ''] = ids;
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
  };
  const startMs = performance.now();
  await Promise.all(placements.flatMap((each) => Array.from({ length: atOnce }, () => caller(each))));
  const perSecond = ms.length / ((performance.now() - startMs) / 1000);
  return { perSecond, ms, fewest: Math.min(...workerIds.map((id) => firsts.get(id) ?? 0)) };
}
