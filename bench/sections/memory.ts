import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium as playwright } from 'playwright-core';
import { Berth, machineProcs } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, slopeOf } from '../figures.ts';
import { type Proc, waitForIdleCpu, descriptorsOf, isAlive, memoryMb, pidsOf, stillExisting } from '../proc.ts';
import { RawPool, destroyRaw, launchRaw } from '../peers/raw-browser.ts';

const cyclesDefault = 500;
const cyclesInStep = 10;
const releaseTimeoutMs = 15_000;
/** Browsers share program pages, so each is measured beside as many others. A single one would count nearly twice. */
const companions = 2;

async function visit(cdpUrl: string, site: string, headers: Record<string, string> = {}): Promise<() => Promise<void>> {
  const browser = await playwright.connectOverCDP(cdpUrl, { headers });
  const page = browser.contexts()[0]?.pages()[0] ?? (await browser.newPage());
  await page.goto(site);
  return () => browser.close();
}

async function rawMemory(bench: Bench): Promise<number> {
  const raw = await launchRaw(bench.stage, bench.chromium);
  const leave = await visit(raw.url, bench.site.url);
  await waitForIdleCpu();
  const megabytes = memoryMb(raw.process.pid === undefined ? [] : pidsOf(raw.process.pid));
  await leave();
  await destroyRaw(bench.stage, raw);
  return megabytes;
}

interface Resources {
  processes: number;
  zombies: number;
  files: number;
  sockets: number;
  tempEntries: number;
  dataEntries: number;
}

/** `seen` are processes of ended machines: orphaned ones are no longer below the worker. */
function measureResources(berth: Berth, seen: readonly Proc[]): Resources {
  const below = machineProcs(berth);
  const left = new Map([...below, ...stillExisting(seen)].map((proc) => [proc.pid, proc]));
  const entries = readdirSync(berth.dataFolder, { recursive: true, encoding: 'utf8' });
  return {
    processes: left.size,
    zombies: [...left.keys()].filter((pid) => !isAlive(pid)).length,
    ...descriptorsOf(berth.pid),
    tempEntries: readdirSync(berth.tempFolder, { recursive: true }).length,
    // The database makes and drops files of its own.
    dataEntries: entries.filter((path) => !/(^|\/)(pg_|base\/|global\/|postgres|database)/.test(path)).length,
  };
}

const resourceKinds = ['processes', 'zombies', 'files', 'sockets', 'tempEntries', 'dataEntries'] as const;

/** Returns the resources once they are released, or after the timeout. */
async function waitForRelease(berth: Berth, before: Resources, seen: readonly Proc[]): Promise<Resources> {
  const deadline = performance.now() + releaseTimeoutMs;
  for (;;) {
    const now = measureResources(berth, seen);
    if (resourceKinds.every((kind) => now[kind] <= before[kind]) || performance.now() > deadline) return now;
    await sleep(200);
  }
}

interface Cycles {
  /** Memory of the worker, every ten cycles. */
  megabytes: number[];
  seen: Proc[];
}

async function runCycles(bench: Bench, berth: Berth, cycles: number): Promise<Cycles> {
  const megabytes: number[] = [];
  const seen: Proc[] = [];
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    const { session_id } = await berth.create();
    seen.push(...machineProcs(berth));
    await berth.delete(session_id);
    if (cycle % cyclesInStep > 0) continue;
    bench.reportProgress(`cycle ${cycle} of ${cycles}`);
    megabytes.push(memoryMb([berth.pid]));
  }
  return { megabytes, seen };
}

interface Measured {
  worker: number;
  database: number;
  session: number;
  raw: number;
  afterCycles: number;
  slopeKb: number;
  before: Resources;
  after: Resources;
}

async function sessionMemory(bench: Bench, berth: Berth): Promise<number> {
  const session = await berth.create();
  const leave = await visit(session.cdp_url, bench.site.url, berth.authorization);
  await waitForIdleCpu();
  const megabytes = memoryMb(machineProcs(berth).map(({ pid }) => pid));
  await leave();
  await berth.delete(session.session_id);
  return megabytes;
}

/** A raw browser and, with the service, a session, each with the same page open and beside the same idle browsers. */
async function browserMemory(bench: Bench, berth: Berth | null): Promise<{ raw: number; session: number }> {
  const companionPool = new RawPool(bench.stage, bench.chromium);
  await companionPool.fill(companions);
  const raw = await rawMemory(bench);
  const session = berth ? await sessionMemory(bench, berth) : Number.NaN;
  await companionPool.empty();
  return { raw, session };
}

async function measure(bench: Bench, berth: Berth, cycles: number): Promise<Measured> {
  // The first session loads what later ones share.
  await berth.delete((await berth.create()).session_id);
  await waitForIdleCpu();
  const before = measureResources(berth, []);
  const worker = memoryMb([berth.pid]);
  const database = memoryMb(berth.databasePid === null ? [] : pidsOf(berth.databasePid));
  const browsers = await browserMemory(bench, berth);
  const { megabytes, seen } = await runCycles(bench, berth, cycles);
  // The first half fills caches and the heap; growth after it is a leak.
  const slopeKb = (slopeOf(megabytes.slice(Math.floor(megabytes.length / 2))) * 1024) / cyclesInStep;
  const after = await waitForRelease(berth, before, seen);
  return { worker, database, ...browsers, afterCycles: megabytes.at(-1) ?? worker, slopeKb, before, after };
}

function checksOf(measured: Measured): Check[] {
  return [
    { what: 'worker, idle', measured: measured.worker, target: 150, rule: 'at most', unit: 'MB' },
    { what: 'database, idle', measured: measured.database, target: 60, rule: 'at most', unit: 'MB' },
    { what: 'a session, of the raw browser', measured: measured.session / measured.raw, target: 1, rule: 'at most', unit: '×' },
    { what: 'a session', measured: measured.session, target: 207, rule: 'at most', unit: 'MB' },
    // Noise of the garbage collector is up to sixteen kilobytes a cycle over 250 cycles.
    { what: 'slope of the worker, KB a cycle', measured: measured.slopeKb, target: 16, rule: 'at most', unit: '' },
    ...resourceKinds.map((kind): Check => ({
      what: `left over: ${kind}`,
      measured: Math.max(0, measured.after[kind] - measured.before[kind]),
      target: 0,
      rule: 'at most',
      unit: '',
    })),
  ];
}

/** Memory of each part, its slope over many sessions, and leaked resources. `--runs` is the number of sessions. */
export async function memory(bench: Bench): Promise<Section> {
  const name = 'memory: proportional set size, slope and leftovers';
  const columns = ['', 'MB'];
  if (!bench.withBerth) return { name, columns, rows: [['raw browser', (await browserMemory(bench, null)).raw]], checks: [], notes: [] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const cycles = bench.runs ?? cyclesDefault;
  const measured = await measure(bench, berth, cycles);
  await berth.stop();
  const { worker, database, session, raw, afterCycles } = measured;
  const rows = Object.entries({
    'worker, idle': worker,
    [`worker after ${cycles} sessions`]: afterCycles,
    'database, idle': database,
    'a session': session,
    'raw browser': raw,
  });
  return {
    name,
    columns,
    rows,
    checks: checksOf(measured),
    notes: [`no warm machines; the session and the raw browser are measured beside ${companions} idle browsers`],
  };
}
