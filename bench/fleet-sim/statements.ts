/** Costs of the service's real statements: their number for each operation, and the time of those that read all workers. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createSession, endSession } from '@berth/contract';
import { beat } from '../../packages/server/testing/pool.ts';
import { listRooms } from '../../packages/server/testing/placement.ts';
import { testStore } from '../../packages/server/testing/test-store.ts';
import { adminKey } from '../../tests/client.ts';
import { startFleet, type TestFleet } from '../../tests/fleet/fleet.ts';

/** Statements, and milliseconds of the database’s processor. */
export interface Cost {
  statements: number;
  ms: number;
}
export interface StatementCosts {
  create: Cost;
  end: Cost;
  /** A second of a worker without sessions, and of a session that nobody uses. */
  workerSecond: Cost;
  sessionSecond: Cost;
}

const operations = 200;
const reads = 100;
/** Processor time is counted in hundredths of a second. */
const watchMs = 20_000;
const settleMs = 5000;

/** Measures two workers in this process, with simulated machines. */
export async function measureStatements(): Promise<StatementCosts> {
  const fleet = await startFleet({ workers: 2 });
  try {
    await sleep(settleMs);
    const idle = await during(fleet, () => sleep(watchMs));
    const ids: string[] = [];
    const creates = await during(fleet, async () => {
      for (let index = 0; index < operations; index += 1) {
        const { body } = await fleet.call(index % 2, createSession, { body: { idle_timeout_seconds: 3600, timeout_seconds: 3600 } });
        ids.push(body.session_id);
      }
    });
    await sleep(settleMs);
    const loaded = await during(fleet, () => sleep(watchMs));
    const ends = await during(fleet, async () => {
      for (const session_id of ids) await fleet.call(0, endSession, { params: { session_id } });
    });
    const workerSecond = scaled(idle, 1000 / (2 * idle.tookMs));
    const ofTwo = (tookMs: number): Cost => scaled(workerSecond, (2 * tookMs) / 1000);
    return {
      create: scaled(less(creates, ofTwo(creates.tookMs)), 1 / operations),
      end: scaled(less(ends, ofTwo(ends.tookMs)), 1 / operations),
      workerSecond,
      sessionSecond: scaled(less(loaded, ofTwo(loaded.tookMs)), 1000 / (operations * loaded.tookMs)),
    };
  } finally {
    await fleet.close();
  }
}

const scaled = ({ statements, ms }: Cost, factor: number): Cost => ({ statements: statements * factor, ms: ms * factor });
const less = (cost: Cost, other: Cost): Cost => ({
  statements: Math.max(0, cost.statements - other.statements),
  ms: Math.max(0, cost.ms - other.ms),
});

async function during(fleet: TestFleet, work: () => Promise<unknown>): Promise<Cost & { tookMs: number }> {
  const [before, startMs] = [await countStatements(fleet), performance.now()];
  await work();
  const [after, tookMs] = [await countStatements(fleet), performance.now() - startMs];
  return { ...less(after, before), tookMs };
}

async function countStatements(fleet: TestFleet): Promise<Cost> {
  const total = { statements: 0, ms: await processorMs(fleet.databaseUrl) };
  for (const { url } of fleet.workers) {
    const metrics = await (await fetch(`${url}/metrics`, { headers: { 'x-admin-key': adminKey } })).text();
    for (const [, value] of metrics.matchAll(/^berth_store_statement_duration_seconds_count(?:\{[^}]*\})? (\d+)/gm))
      total.statements += Number(value);
  }
  return total;
}

/** Processor time of all processes of the database server that exist now. */
async function processorMs(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()');
  await client.end();
  return rows.reduce((sum, { pid }) => sum + processorMsOf(pid), 0);
}

/** `/proc/<pid>/stat` counts in hundredths of a second. */
function processorMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Processor time of a heartbeat and of a read for placement, each of which reads the rows of this many workers. */
export async function measureReads(workers: number): Promise<{ heartbeatMs: number; roomsMs: number }> {
  const database = await testStore();
  try {
    const { store } = database;
    for (let index = 0; index < workers; index += 1) await beat(store, { workerId: `wrk_${index}` });
    const heartbeatMs = await meanMs(database.url, () => beat(store, { workerId: 'wrk_0' }));
    return { heartbeatMs, roomsMs: await meanMs(database.url, () => listRooms(store, 'local', 3600)) };
  } finally {
    await database.drop();
  }
}

async function meanMs(databaseUrl: string, work: () => Promise<unknown>): Promise<number> {
  const before = await processorMs(databaseUrl);
  for (let run = 0; run < reads; run += 1) await work();
  return ((await processorMs(databaseUrl)) - before) / reads;
}
