/** Virtual machines: start time, memory and idle CPU use. Every figure names its accelerator, KVM or emulation. */
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { createQemuRuntime, prepareTemplates, type QemuRuntimeOptions, type Vm } from '@berth/machines';
import { Berth, machineProcs, type BerthOptions } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, spread, summarize } from '../figures.ts';
import { waitForIdleCpu, ownAndSharedMb, pidsOf, processorMs } from '../proc.ts';
import { destroyRaw, launchRaw } from '../peers/raw-browser.ts';

const imagesFolder = process.env['BERTH_IMAGES_DIR'] ?? join(import.meta.dirname, '../../data/images');
const runsDefault = 20;
const idleMachinesMax = 6;
const sessionsAtOnce = 3;
const idleMs = 20_000;
const fillTimeoutMs = 300_000;

/** Targets by accelerator. Those of KVM are estimates. */
const targetsOf = {
  'qemu-kvm': { name: 'KVM', runningMs: 250, firstAnswerMs: 300, ownMb: 150 },
  'qemu-tcg': { name: 'emulation', runningMs: 250, firstAnswerMs: 3000, ownMb: 350 },
} as const;
type RuntimeName = keyof typeof targetsOf;

/** Starts the service and creates the template before anything is measured. */
async function startWith(bench: Bench, poolTarget: number): Promise<Berth> {
  const options: BerthOptions = { chromium: bench.chromium, poolTarget, allow: bench.site.address };
  const berth = await Berth.start(bench.stage, { ...options, environment: { BERTH_RUNTIME: 'qemu', BERTH_IMAGES_DIR: imagesFolder } });
  await berth.delete((await berth.create()).session_id);
  return berth;
}

async function timed<T>(work: () => Promise<T>): Promise<[T, ms: number]> {
  const started = performance.now();
  return [await work(), performance.now() - started];
}

const runtimeOf = async (berth: Berth, id: string): Promise<RuntimeName> => {
  const { runtime } = (await berth.read(id)) as { runtime: string };
  if (runtime === 'qemu-kvm' || runtime === 'qemu-tcg') return runtime;
  throw new Error(`the service runs ${runtime}`);
};

/** Options of the runtime without the service, with the accelerator that the service detected. */
function optionsFor(dataDir: string, runtime: RuntimeName, overrides: Partial<QemuRuntimeOptions> = {}): QemuRuntimeOptions {
  const accelerator = runtime === 'qemu-kvm' ? 'kvm' : 'tcg';
  const machine = { qemuPath: '/usr/bin/qemu-system-x86_64', memoryMb: 1024, cpus: 1, accelerator } as const;
  return { dataDir, workerId: 'wrk_bench', imagesDir: imagesFolder, log: silentLog, ...machine, ...overrides };
}

interface BootResult {
  rawMs: number[];
  runningMs: number[];
  /** Times to the browser's first DevTools answer. */
  answerMs: number[];
  idle: IdleUsage[];
}

/** Clones by the runtime without HTTP and database, each compared with the start of a plain browser on this host. */
async function bootEach(bench: Bench, name: RuntimeName, runs: number): Promise<BootResult> {
  const result: BootResult = { rawMs: [], runningMs: [], answerMs: [], idle: [] };
  const onDebug = (fields: object, message: string): void => {
    if (/\bclone\b/.test(message) && 'ms' in fields) result.runningMs.push((fields as { ms: number }).ms);
  };
  const log: Log = { ...silentLog, debug: onDebug, child: () => log };
  const runtime = await createQemuRuntime(optionsFor(bench.stage.folder('machines'), name, { log }));
  let booted = 0;
  const boot = (): Promise<Vm> => {
    const id = `vm_bench${(booted += 1)}`;
    return runtime.boot(
      { id, kind: 'headless', priority: 'normal', acceptEgress: (connection) => void connection.destroy() },
      { signal: AbortSignal.timeout(fillTimeoutMs) },
    );
  };
  await (await boot()).destroy();
  result.runningMs.length = 0;
  for (let run = 1; run <= runs; run += 1) {
    bench.reportProgress(`boot ${run} of ${runs}`);
    const [vm, ms] = await timed(boot);
    result.answerMs.push(ms);
    await vm.destroy();
    const [raw, rawMs] = await timed(() => launchRaw(bench.stage, bench.chromium));
    result.rawMs.push(rawMs);
    await destroyRaw(bench.stage, raw);
    await waitForIdleCpu();
  }
  result.idle = await measureIdleMachines(bench, boot);
  await runtime.close();
  return result;
}

/** Builds, saves and verifies a template of each kind. Returns seconds. */
async function buildTemplates(bench: Bench, name: RuntimeName): Promise<{ kind: string; seconds: number }[]> {
  bench.reportProgress('templates');
  const folder = bench.stage.folder('images');
  const source = realpathSync(join(imagesFolder, 'current'));
  const copy = join(folder, basename(source));
  mkdirSync(copy);
  for (const entry of readdirSync(source, { withFileTypes: true }))
    if (entry.isFile()) symlinkSync(join(source, entry.name), join(copy, entry.name));
  symlinkSync(basename(source), join(folder, 'current'));
  const made = await prepareTemplates(optionsFor(folder, name, { imagesDir: folder }));
  bench.stage.removeFolder(folder);
  return made;
}

interface CloneResult {
  runtime: RuntimeName;
  /** Times from the request to the session response, with an empty pool. */
  createMs: number[];
  navigateMs: number[];
}

async function cloneEach(bench: Bench, berth: Berth, runs: number): Promise<CloneResult> {
  const result: CloneResult = { runtime: 'qemu-tcg', createMs: [], navigateMs: [] };
  for (let run = 1; run <= runs; run += 1) {
    bench.reportProgress(`clone ${run} of ${runs}`);
    const [session, createMs] = await timed(() => berth.create());
    const [, navigateMs] = await timed(() => berth.navigate(session.session_id, bench.site.url));
    result.runtime = await runtimeOf(berth, session.session_id);
    result.createMs.push(createMs);
    result.navigateMs.push(navigateMs);
    await berth.delete(session.session_id);
    await waitForIdleCpu();
  }
  return result;
}

/** Acquires machines from the pool. Each run waits for a warm one; only the acquisition is measured. */
async function measureAcquire(bench: Bench, runs: number): Promise<number[]> {
  const berth = await startWith(bench, 1);
  const times: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    bench.reportProgress(`warm machine ${run} of ${runs}`);
    await berth.waitForFullPool(fillTimeoutMs);
    const [session, ms] = await timed(() => berth.create());
    if (!session.warm) throw new Error('the machine was not warm');
    times.push(ms);
    await berth.delete(session.session_id);
  }
  await berth.stop();
  return times;
}

interface IdleUsage {
  machines: number;
  own: number;
  shared: number;
  /** CPU use of each idle machine, in percent of one processor. */
  idlePercent: number;
}

async function measureIdle(machines: number, pids: number[]): Promise<IdleUsage> {
  await sleep(idleMs / 2);
  const before = processorMs(pids);
  await sleep(idleMs);
  const usedMs = [...processorMs(pids)].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? ms), 0);
  const { own, shared } = ownAndSharedMb(pids);
  return { machines, own: own / machines, shared: shared / machines, idlePercent: (100 * usedMs) / idleMs / machines };
}

/** Sessions, each with an open page and no viewer. */
async function measureSessions(bench: Bench, berth: Berth): Promise<IdleUsage> {
  const sessions: string[] = [];
  while (sessions.length < sessionsAtOnce) {
    bench.reportProgress(`session ${sessions.length + 1} at once`);
    const { session_id: id } = await berth.create();
    await berth.navigate(id, bench.site.url);
    sessions.push(id);
  }
  const pids = machineProcs(berth).map(({ pid }) => pid);
  const result = await measureIdle(sessionsAtOnce, pids);
  for (const id of sessions) await berth.delete(id);
  return result;
}

/** Machines as they are in the pool. */
async function measureIdleMachines(bench: Bench, boot: () => Promise<Vm>): Promise<IdleUsage[]> {
  const result: IdleUsage[] = [];
  const idle: Vm[] = [];
  for (const machines of [1, 3, idleMachinesMax]) {
    bench.reportProgress(`${machines} idle machines at once`);
    while (idle.length < machines) idle.push(await boot());
    result.push(
      await measureIdle(
        machines,
        idle.flatMap(({ pid }) => (pid === null ? [] : pidsOf(pid))),
      ),
    );
  }
  for (const vm of idle) await vm.destroy();
  return result;
}

export async function machines(bench: Bench): Promise<Section> {
  if (!bench.withBerth || !existsSync(join(imagesFolder, 'current')))
    return {
      name: 'machines',
      columns: ['left out'],
      rows: [],
      checks: [],
      notes: [`No image in ${imagesFolder}. Build one with npm run image.`],
    };
  const runs = bench.runs ?? runsDefault;
  const berth = await startWith(bench, 0);
  const cloned = await cloneEach(bench, berth, runs);
  const sessions = await measureSessions(bench, berth);
  await berth.stop();
  const warm = await measureAcquire(bench, runs);
  const booted = await bootEach(bench, cloned.runtime, runs);
  const templates = await buildTemplates(bench, cloned.runtime);
  return reportOf({ cloned, sessions, warm, booted, templates });
}

const formatUsage = ({ own, shared, idlePercent }: IdleUsage): string =>
  [own, shared, idlePercent].map((value) => value.toFixed(1)).join(' / ');

interface Measured {
  cloned: CloneResult;
  sessions: IdleUsage;
  warm: number[];
  booted: BootResult;
  templates: { kind: string; seconds: number }[];
}

function reportOf({ cloned, sessions, warm, booted, templates }: Measured): Section {
  const { name, runningMs, firstAnswerMs, ownMb } = targetsOf[cloned.runtime];
  const last = booted.idle.at(-1);
  const check = (what: string, measured: number | undefined, target: number, unit: Check['unit']): Check => ({
    what: `${what} (${name})`,
    measured: measured ?? Number.NaN,
    target,
    rule: 'at most',
    unit,
  });
  return {
    name: `machines (${name})`,
    columns: ['what', 'p50 / p95 / p99', 'n'],
    rows: [
      ['a plain browser on this host, started, ms', spread(booted.rawMs), booted.rawMs.length],
      ['clone to running, ms', spread(booted.runningMs), booted.runningMs.length],
      ['clone to its browser’s first answer, ms', spread(booted.answerMs), booted.answerMs.length],
      ['the same as a session over HTTP, ms', spread(cloned.createMs), cloned.createMs.length],
      ['its first page, ms', spread(cloned.navigateMs), cloned.navigateMs.length],
      ['a warm machine acquired, ms', spread(warm), warm.length],
      ...templates.map(({ kind, seconds }) => [`a template of ${kind}, built and verified, s`, seconds.toFixed(1), 1]),
      ...booted.idle.map((idle) => [
        `${idle.machines} idle, for each: own / shared MB / % of a processor`,
        formatUsage(idle),
        idle.machines,
      ]),
      [`${sessions.machines} sessions with a page, for each: own / shared MB / % of a processor`, formatUsage(sessions), sessions.machines],
    ],
    checks: [
      check('clone to running, p50', summarize(booted.runningMs).p50, runningMs, 'ms'),
      check('clone to first answer, p50', summarize(booted.answerMs).p50, firstAnswerMs, 'ms'),
      check('a warm machine acquired, p50', summarize(warm).p50, 25, 'ms'),
      check(`own memory of an idle machine, ${idleMachinesMax} at once`, last?.own, ownMb, 'MB'),
      check('an idle machine, of one processor', last?.idlePercent, 10, '%'),
      ...templates.map(({ kind, seconds }) => check(`a template of ${kind}`, seconds, 90, 's')),
    ],
    notes: [`Taken with ${name}.${name === 'KVM' ? '' : ' A host with KVM is some ten to thirty times faster; it was not measured.'}`],
  };
}
