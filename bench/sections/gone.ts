import { setTimeout as wait } from 'node:timers/promises';
import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Section, spread, summarize } from '../figures.ts';
import { machineProcs } from '../machine-procs.ts';
import { calm, isAlive } from '../proc.ts';

const runsDefault = 20;
const waitMsMax = 10_000;
const targetMs = 2000;

async function timeToGone(berth: Berth): Promise<number> {
  const { session_id } = await berth.create();
  const pids = machineProcs(berth).map(({ pid }) => pid);
  if (pids.length === 0) throw new Error('the session has no process below the service');
  const started = performance.now();
  await berth.delete(session_id);
  while (pids.some(isAlive) && performance.now() - started < waitMsMax) await wait(5);
  return performance.now() - started;
}

/** From the call that deletes a session until the last process of its machine is no more. */
export async function gone(bench: Bench): Promise<Section> {
  const name = 'gone: the machine of a deleted session';
  const columns = ['p50 / p95 / p99', 'n', 'ms', 'longest'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const samples: number[] = [];
  const runs = bench.runs ?? runsDefault;
  for (let run = 1; run <= runs; run += 1) {
    bench.say(`run ${run} of ${runs}`);
    await calm();
    samples.push(await timeToGone(berth));
  }
  await berth.stop();
  const longest = Math.max(...samples);
  return {
    name,
    columns,
    rows: [['delete to gone', summarize(samples).n, spread(samples), longest]],
    checks: [{ what: 'gone after delete, the longest', measured: longest, target: targetMs, rule: 'at most', unit: 'ms' }],
    notes: [],
  };
}
