import { setTimeout as sleep } from 'node:timers/promises';
import { Berth, machineProcs } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Section, spread, summarize } from '../figures.ts';
import { waitForIdleCpu, isAlive } from '../proc.ts';

const runsDefault = 20;
const timeoutMs = 10_000;
const targetMs = 2000;

async function timeToTeardown(berth: Berth): Promise<number> {
  const { session_id } = await berth.create();
  const pids = machineProcs(berth).map(({ pid }) => pid);
  if (pids.length === 0) throw new Error('the session has no process below the service');
  const started = performance.now();
  await berth.delete(session_id);
  while (pids.some(isAlive) && performance.now() - started < timeoutMs) await sleep(5);
  return performance.now() - started;
}

/** Measures from the delete call until the last process of the session's machine has exited. */
export async function teardown(bench: Bench): Promise<Section> {
  const name = 'gone: the machine of a deleted session';
  const columns = ['p50 / p95 / p99', 'n', 'ms', 'slowest'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const samples: number[] = [];
  const runs = bench.runs ?? runsDefault;
  for (let run = 1; run <= runs; run += 1) {
    bench.reportProgress(`run ${run} of ${runs}`);
    await waitForIdleCpu();
    samples.push(await timeToTeardown(berth));
  }
  await berth.stop();
  const slowestMs = Math.max(...samples);
  return {
    name,
    columns,
    rows: [['delete to exit', summarize(samples).n, spread(samples), slowestMs]],
    checks: [{ what: 'exit after delete, the slowest', measured: slowestMs, target: targetMs, rule: 'at most', unit: 'ms' }],
    notes: [],
  };
}
