/** The load that a fleet puts on its idle database, and the time that it adds to a create. Simulated machines, over HTTP. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createSession, endSession } from '@berth/contract';
import { startApp, type TestApp } from '../../../tests/harness.ts';
import { startFleet, type TestFleet } from '../../../tests/fleet/fleet.ts';
import { adminKey } from '../../../tests/client.ts';
import type { Bench } from '../../context.ts';
import { spread, summarize, type Section } from '../../figures.ts';

const workersCount = 3;
const sessionsCount = 1000;
const atOnce = 20;
const createsDefault = 200;
/** Creates at each worker before the counted ones: code that has run a few times is compiled, and connections are open. */
const warmUps = 20;
/** Wait after which loops that started together have parted, and the database has written what the creates left. */
const quietMs = 10_000;
const watchMs = 30_000;
const environment = { BERTH_MAX_SESSIONS: String(sessionsCount + createsDefault) };
const idleFor = { idle_timeout_seconds: 3600, timeout_seconds: 3600 };
/** Unit of `/proc/<pid>/stat`, which counts in hundredths of a second everywhere. */
const ticksPerSecond = 100;

interface Load {
  /** Percent of one processor. */
  processor: number;
  statementsPerSecond: number;
}

export async function fleetIdle(bench: Bench): Promise<Section> {
  const creates = bench.runs ?? createsDefault;
  const fleet = await startFleet({ workers: workersCount, environment });
  const single = await startApp({ environment });
  try {
    const ms = await compareCreates(single, fleet, creates);
    await fill(fleet, bench);
    bench.reportProgress(`watching the database for ${watchMs / 1000} s`);
    const load = await watchDatabase(fleet);
    const [one, three] = [summarize(ms.single), summarize(ms.fleet)];
    return {
      name: `fleet of ${workersCount} workers`,
      columns: ['', 'n', 'p50 / p95 / p99 ms'],
      rows: [
        ['create, one worker', one.n, spread(ms.single)],
        [`create, ${workersCount} workers in turn`, three.n, spread(ms.fleet)],
      ],
      checks: [
        { what: 'create p50, beside one worker', measured: three.p50 / one.p50, target: 1.3, rule: 'at most', unit: '×' },
        {
          what: `database with ${sessionsCount} idle sessions, of a core`,
          measured: load.processor,
          target: 5,
          rule: 'at most',
          unit: '%',
        },
        { what: 'statements a second', measured: load.statementsPerSecond, target: 200, rule: 'at most', unit: '' },
      ],
      notes: [`the database was watched for ${watchMs / 1000} s; begin and commit count as statements`],
    };
  } finally {
    await single.close();
    await fleet.close();
  }
}

/** Alternates, so that both meet the same host. */
async function compareCreates(single: TestApp, fleet: TestFleet, runs: number): Promise<{ single: number[]; fleet: number[] }> {
  const ms = { single: [] as number[], fleet: [] as number[] };
  for (let run = -warmUps * workersCount; run < runs; run += 1) {
    const once = { single: await timeCreate(single), fleet: await timeCreate(fleet.worker(Math.abs(run) % workersCount)) };
    if (run < 0) continue;
    ms.single.push(once.single);
    ms.fleet.push(once.fleet);
  }
  return ms;
}

async function timeCreate(app: TestApp): Promise<number> {
  const startMs = performance.now();
  const { status, body, text } = await app.call(createSession, { body: {} });
  const ms = performance.now() - startMs;
  assert.equal(status, 201, text);
  await app.call(endSession, { params: { session_id: body.session_id } });
  return ms;
}

async function fill(fleet: TestFleet, bench: Bench): Promise<void> {
  for (let count = 0; count < sessionsCount; count += atOnce) {
    bench.reportProgress(`${count} of ${sessionsCount} sessions`);
    await Promise.all(Array.from({ length: atOnce }, (_, i) => fleet.worker((count + i) % workersCount).create(idleFor)));
  }
}

async function watchDatabase(fleet: TestFleet): Promise<Load> {
  await sleep(quietMs);
  const client = new Client({ connectionString: fleet.databaseUrl });
  await client.connect();
  try {
    const before = { ticks: await databaseTicks(client), statements: await countStatements(fleet), ms: performance.now() };
    await sleep(watchMs);
    const seconds = (performance.now() - before.ms) / 1000;
    const after = await databaseTicks(client);
    const ticks = [...after].reduce((sum, [pid, count]) => sum + count - (before.ticks.get(pid) ?? 0), 0);
    const statements = (await countStatements(fleet)) - before.statements;
    return { processor: (ticks / ticksPerSecond / seconds) * 100, statementsPerSecond: statements / seconds };
  } finally {
    await client.end();
  }
}

/** Processor time by process of the database server. A connection that closes meanwhile takes its count with it. */
async function databaseTicks(client: Client): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
  const ticks = new Map<number, number>();
  for (const { pid } of rows) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks.set(pid, Number(fields[11]) + Number(fields[12]));
  }
  return ticks;
}

async function countStatements(fleet: TestFleet): Promise<number> {
  let count = 0;
  for (const { url } of fleet.workers) {
    const metrics = await (await fetch(`${url}/metrics`, { headers: { 'x-admin-key': adminKey } })).text();
    for (const [, value] of metrics.matchAll(/^berth_store_statement_duration_seconds_count(?:\{[^}]*\})? (\d+)/gm)) count += Number(value);
  }
  return count;
}
