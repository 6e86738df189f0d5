/**
 * How large a fleet on one database can be: the real rules of placement, leases and limits in simulated time, with the
 * statements that the real service sends, counted and timed on this machine.
 *
 *     node bench/fleet-sim/fleet-sim.ts                              the curve, up to 5 000 workers and 200 000 sessions
 *     node bench/fleet-sim/fleet-sim.ts --workers 300 --seed 7       one size
 */
import { parseArgs } from 'node:util';
import { printSection, summarize, spread } from '../figures.ts';
import { simulateRates } from './rates.ts';
import { simulate } from './simulation.ts';
import { measureReads, measureStatements, type StatementCosts } from './statements.ts';

const sizes = [3, 30, 100, 300, 1000, 5000];
const sessionsEach = 40;

const { values } = parseArgs({ options: { workers: { type: 'string' }, seed: { type: 'string', default: '1' } } });
const costs = await measureStatements();
const rows: (string | number)[][] = [];
for (const workers of values.workers ? [Number(values.workers)] : sizes) rows.push(await rowOf(workers, costs));

printSection({
  name: `fleets of ${sessionsEach} sessions a worker, seed ${values.seed}`,
  columns: [
    'workers',
    'sessions',
    'creates/s',
    'rank p50/p95/p99 ms',
    'ready p50/p95/p99 s',
    'refused',
    'over limit',
    'rate p50/p95/p99 of limit',
    'load p99/mean',
    'statements/s',
    'database cores',
    'noticed max s',
    'replaced p99 s',
  ],
  rows,
  checks: [],
  notes: [
    `of one create ${describe(costs.create)}, end ${describe(costs.end)}, idle worker ${describe(costs.workerSecond)} a second, ` +
      `idle session ${describe(costs.sessionSecond)} a second`,
  ],
});

async function rowOf(workers: number, { create, end, workerSecond, sessionSecond }: StatementCosts): Promise<(string | number)[]> {
  const sessions = workers * sessionsEach;
  const { perSecond, ...result } = simulate({ workers, sessions, seed: Number(values.seed) });
  if (result.ownerLoad > 1) throw new Error('an owner had more sessions than its limit');
  const rates = await simulateRates({ workers, seed: Number(values.seed) });
  const reads = await measureReads(workers);
  const { creates, roomReads, heartbeats } = perSecond;
  const sum = (of: 'statements' | 'ms'): number =>
    creates * (create[of] + end[of]) + workers * workerSecond[of] + sessions * sessionSecond[of];
  // The heartbeat's own read is measured apart: it grows with the fleet.
  const busyMs = sum('ms') + roomReads * reads.roomsMs + heartbeats * reads.heartbeatMs;
  const mean = result.loads.reduce((total, load) => total + load, 0) / workers;
  return [
    workers,
    sessions,
    creates,
    spread(result.rankMs),
    spread(result.readyMs.map((ms) => ms / 1000)),
    result.refused,
    result.limited,
    spread(rates),
    summarize(result.loads).p99 / mean,
    sum('statements') + roomReads,
    busyMs / 1000,
    Math.max(...result.noticedMs) / 1000,
    summarize(result.replacedMs).p99 / 1000,
  ];
}

function describe({ statements, ms }: { statements: number; ms: number }): string {
  return `${statements.toFixed(2)} statements (${ms.toFixed(2)} ms of the processor)`;
}
