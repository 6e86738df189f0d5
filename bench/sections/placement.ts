/** Placements a second on one database: three workers that place sessions at once, each with reservations in the same rows. */
import type { Bench } from '../context.ts';
import { type Section, summarize } from '../figures.ts';
import { beat } from '../../packages/server/src/fleet/testing.ts';
import { createTestPlacement, type Placement } from '../../packages/server/src/placement/testing.ts';
import { buildInProcess } from '../in-process.ts';

const workerIds = ['wrk_a', 'wrk_b', 'wrk_c'];
const runsDefault = 6000;
/** Calls in progress at each worker. */
const atOnce = 10;
const perSecondMin = 500;

export async function placement(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const { store, app } = await buildInProcess(bench.stage);
  for (const workerId of workerIds) await beat(store, { workerId, sessionsMax: 1_000_000 });
  const sessionsByWorker = (owner: string) => app.sessions.byWorker(owner);
  const placements = workerIds.map((workerId) => createTestPlacement({ workerId, store, sessionsByWorker }));
  const measure = async (count: number): Promise<{ perSecond: number; ms: number[]; firsts: Map<string, number> }> => {
    const ms: number[] = [];
    const firsts = new Map<string, number>();
    let left = count;
    const caller = async (each: Placement): Promise<void> => {
      for (; left > 0;) {
        left -= 1;
        const startMs = performance.now();
        const { workerIds } = await each.candidates({ work: 'session', owner: 'bench', kind: 'headless', region: undefined });
        const [first = ''] = workerIds;
        ms.push(performance.now() - startMs);
        firsts.set(first, (firsts.get(first) ?? 0) + 1);
      }
    };
    const startMs = performance.now();
    await Promise.all(placements.flatMap((each) => Array.from({ length: atOnce }, () => caller(each))));
    return { perSecond: ms.length / ((performance.now() - startMs) / 1000), ms, firsts };
  };
  bench.reportProgress('placing');
  // The first ones connect and prepare their statements.
  await measure(500);
  const { perSecond, ms, firsts } = await measure(runs);
  const { n, p50, p95, p99 } = summarize(ms);
  const fewest = Math.min(...workerIds.map((id) => firsts.get(id) ?? 0));
  return {
    name: `placement by ${workerIds.length} workers with ${atOnce} calls at once each`,
    columns: ['', 'n', 'a second', 'p50 ms', 'p95 ms', 'p99 ms'],
    rows: [['candidates', n, perSecond, p50, p95, p99]],
    checks: [
      { what: 'placements a second', measured: perSecond, target: perSecondMin, rule: 'at least', unit: '' },
      {
        what: 'the worker with the fewest, in % of an even share',
        measured: (fewest * workerIds.length * 100) / n,
        target: 80,
        rule: 'at least',
        unit: '%',
      },
    ],
    notes: [],
  };
}
