/**
 * A mixed load for half an hour: what ordinary owners feel while one hostile
 * owner does one kind of harm after another. `--runs` is the time in minutes.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Berth, machineProcs } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, slopeOf, spread, summarize } from '../figures.ts';
import { serveIssuer } from '../issuer.ts';
import { type Proc, memoryMb, stillExisting } from '../proc.ts';
import { attacks } from './soak/hostile.ts';
import { type Owner, createOwner, plan } from './soak/owner.ts';
import { type Sample, workUntil } from './soak/ordinary.ts';

const minutesDefault = 30;
const sampleMs = 5000;
/** Caches, pools and the compiler are full after that. */
const warmUpShare = 1 / 3;
/** Of the time, before any harm. */
const calmShare = 0.3;
const hostileEntry = join(import.meta.dirname, 'soak/hostile.ts');
const graceMs = 2000;

interface Phase {
  name: string;
  fromMs: number;
  toMs: number;
}

interface Measured {
  samples: Sample[];
  phases: Phase[];
  /** Of the worker, every five seconds. */
  megabytes: number[];
  /** Processes of machines that outlived the service. */
  left: number;
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};

interface Scene {
  bench: Bench;
  berth: Berth;
  hostile: Owner;
  hostilePort: number;
  minutes: number;
}

/** First calm, then one attack after another, each in a process that ends with its phase. */
async function playPhases({ bench, berth, hostile, hostilePort, minutes }: Scene): Promise<Phase[]> {
  const phases: Phase[] = [];
  const kinds = Object.keys(attacks);
  const phase = async (name: string, ms: number): Promise<void> => {
    bench.reportProgress(name);
    const fromMs = performance.now();
    await sleep(ms);
    phases.push({ name, fromMs, toMs: performance.now() });
  };
  await phase('warm-up', 10_000);
  await phase('calm', minutes * 60_000 * calmShare);
  for (const kind of kinds) {
    const args = ['-n', '15', process.execPath, hostileEntry, berth.url, hostile.key, String(hostilePort), kind];
    const attacker = bench.stage.start('nice', args, { stdio: 'ignore' });
    await phase(kind, (minutes * 60_000 * (1 - calmShare)) / kinds.length);
    await bench.stage.stop(attacker, { graceMs });
    await endSessions(berth, hostile);
  }
  return phases;
}

/** What one attack left must not count for the next. */
async function endSessions(berth: Berth, { key }: Owner): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${berth.url}/v1/sessions?limit=100`, { headers });
  const sessions = (await response.json()) as { session_id: string }[];
  for (const { session_id } of sessions) await fetch(`${berth.url}/v1/session/${session_id}`, { method: 'DELETE', headers });
}

async function watchWorker(berth: Berth, signal: AbortSignal): Promise<{ megabytes: number[]; seen: Proc[] }> {
  const [megabytes, seen] = [[] as number[], new Map<string, Proc>()];
  while (!signal.aborted) {
    megabytes.push(memoryMb([berth.pid]));
    for (const proc of machineProcs(berth)) seen.set(`${proc.pid} ${proc.startedAt}`, proc);
    await sleep(sampleMs, undefined, { signal }).catch(() => undefined);
  }
  return { megabytes, seen: [...seen.values()] };
}

async function measure(bench: Bench): Promise<Measured> {
  const [issuer, hostilePort] = [await serveIssuer(bench.stage), await freePort()];
  const tiers = join(bench.stage.folder('tiers'), 'tiers.json');
  writeFileSync(tiers, JSON.stringify({ default_tier: 'everyone', tiers: { everyone: plan }, prices: {} }), { mode: 0o644 });
  const berth = await Berth.start(bench.stage, {
    chromium: bench.chromium,
    poolTarget: 1,
    allow: `${bench.site.address},127.0.0.1:${hostilePort}`,
    environment: { ...issuer.environment, BERTH_TIERS_FILE: tiers, BERTH_LOG_LEVEL: 'error' },
  });
  const [first, second, hostile] = [
    await createOwner(berth, issuer, 'first'),
    await createOwner(berth, issuer, 'second'),
    await createOwner(berth, issuer, 'hostile'),
  ];
  const samples: Sample[] = [];
  const finished = new AbortController();
  const work = workUntil(finished.signal, [first, second], bench.site.url, (sample) => samples.push(sample));
  const watch = watchWorker(berth, finished.signal);
  const played = playPhases({ bench, berth, hostile, hostilePort, minutes: bench.runs ?? minutesDefault });
  // Also when the service dies under an attack.
  const phases = await played.finally(() => finished.abort());
  await work;
  const { megabytes, seen } = await watch;
  await berth.stop();
  return { samples, phases, megabytes, left: stillExisting(seen).length };
}

const within = (samples: readonly Sample[], { fromMs, toMs }: Phase): Sample[] =>
  samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
const msOf = (samples: readonly Sample[], operation: string): number[] =>
  samples.filter((sample) => sample.operation === operation && sample.error === null).map(({ ms }) => ms);

interface Compared {
  calm: Sample[];
  harmed: Sample[];
  operations: string[];
}

function compare({ samples, phases }: Measured): Compared {
  const [, calm, ...harm] = phases;
  const harmed = harm.flatMap((phase) => within(samples, phase));
  const operations = [...new Set(samples.map(({ operation }) => operation))].filter((operation) => operation !== 'other');
  return { calm: calm ? within(samples, calm) : [], harmed, operations };
}

const hourInSamples = 3_600_000 / sampleMs;

function checksOf({ calm, harmed, operations }: Compared, { samples, megabytes, left }: Measured): Check[] {
  const settled = megabytes.slice(Math.floor(megabytes.length * warmUpShare));
  return [
    ...operations.map((operation): Check => ({
      what: `${operation}: p99 of the calm one`,
      measured: summarize(msOf(harmed, operation)).p99 / summarize(msOf(calm, operation)).p99,
      target: 2,
      rule: 'at most',
      unit: '×',
    })),
    { what: 'failed calls', measured: samples.filter(({ error }) => error !== null).length, target: 0, rule: 'at most', unit: '' },
    { what: 'worker, growth an hour', measured: slopeOf(settled) * hourInSamples, target: 1, rule: 'at most', unit: 'MB' },
    { what: 'processes left on the host', measured: left, target: 0, rule: 'at most', unit: '' },
  ];
}

/** By operation over all attacks, then by attack over all operations. */
function rowsOf({ calm, harmed, operations }: Compared, { samples, phases, megabytes }: Measured): Section['rows'] {
  const failed = (some: readonly Sample[]): number => some.filter(({ error }) => error !== null).length;
  const byOperation = operations.map((operation) => [
    operation,
    msOf(calm, operation).length,
    spread(msOf(calm, operation)),
    msOf(harmed, operation).length,
    spread(msOf(harmed, operation)),
    failed(harmed.filter((sample) => sample.operation === operation)),
  ]);
  const reads = 'GET /v1/usage';
  const byAttack = phases.slice(2).map((phase) => {
    const some = within(samples, phase);
    return [phase.name, '', '', msOf(some, reads).length, spread(msOf(some, reads)), failed(some)];
  });
  return [...byOperation, ...byAttack, ['worker MB, least and most', '', '', megabytes.length, extremes(megabytes), '']];
}

const extremes = (values: readonly number[]): string => `${Math.min(...values).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;

export async function soak(bench: Bench): Promise<Section> {
  const name = 'soak: ordinary owners beside a hostile one';
  const columns = ['p50 / p95 / p99', 'n, calm', 'calm ms', 'n, attacked', 'attacked ms', 'failed'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const measured = await measure(bench);
  const compared = compare(measured);
  // Of each operation one: the rest differ in their ids.
  const failures = new Map(measured.samples.flatMap(({ operation, error }) => (error === null ? [] : [[operation, error]])));
  return {
    name,
    columns,
    rows: rowsOf(compared, measured),
    checks: checksOf(compared, measured),
    notes: [
      'an attack’s own row shows GET /v1/usage of the others',
      ...[...failures].map(([operation, error]) => `failed: ${operation}: ${error.slice(0, 300)}`),
    ],
  };
}
