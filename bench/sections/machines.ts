/** Virtual machines: how soon one is there, what it takes of its own, and what it does when nothing is asked of it. Every figure is of KVM or of emulation, and says so. */
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { silentLog, type Log } from '../../packages/server/src/lib/log.ts';
import { createQemuRuntime, prepareTemplates, type QemuRuntimeOptions } from '../../packages/server/src/runtime/qemu/qemu.ts';
import type { Vm } from '../../packages/server/src/runtime/runtime.ts';
import { Berth, type BerthOrder } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, spread, summarize } from '../figures.ts';
import { machineProcs } from '../machine-procs.ts';
import { calm, ownAndSharedMb, pidsOf, processorMs } from '../proc.ts';
import { buryRaw, launchRaw } from '../raw-browser.ts';

const imagesFolder = process.env['BERTH_IMAGES_DIR'] ?? join(import.meta.dirname, '../../data/images');
const runsDefault = 20;
const companyMax = 6;
const sessionsAtOnce = 3;
const idleMs = 20_000;
const fillMsMax = 300_000;

/** `kvm` and `tcg` are held to different targets; of KVM nothing has been measured by us. */
const targetsOf = {
  'qemu-kvm': { name: 'KVM', runningMs: 250, firstAnswerMs: 300, ownMb: 150 },
  'qemu-tcg': { name: 'emulation', runningMs: 250, firstAnswerMs: 3000, ownMb: 350 },
} as const;
type RuntimeName = keyof typeof targetsOf;

/** A template is made before the service is asked for anything that is timed. */
async function startWith(bench: Bench, poolTarget: number): Promise<Berth> {
  const order: BerthOrder = { chromium: bench.chromium, poolTarget, allow: bench.site.address };
  const berth = await Berth.start(bench.stage, { ...order, environment: { BERTH_RUNTIME: 'qemu', BERTH_IMAGES_DIR: imagesFolder } });
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

/** At the runtime's own door, which is tried with the accelerator that the service has found. */
function optionsFor(dataDir: string, runtime: RuntimeName, parts: Partial<QemuRuntimeOptions> = {}): QemuRuntimeOptions {
  const accelerator = runtime === 'qemu-kvm' ? 'kvm' : 'tcg';
  const machine = { qemuPath: '/usr/bin/qemu-system-x86_64', memoryMb: 1024, cpus: 1, accelerator } as const;
  return { dataDir, workerId: 'wrk_bench', imagesDir: imagesFolder, log: silentLog, ...machine, ...parts };
}

interface Booted {
  rawMs: number[];
  runningMs: number[];
  /** To the browser's first DevTools answer. */
  answerMs: number[];
  idle: Company[];
}

/** Clones at the runtime's door, without HTTP and database, each beside the start of a plain browser on this host. */
async function bootEach(bench: Bench, name: RuntimeName, runs: number): Promise<Booted> {
  const found: Booted = { rawMs: [], runningMs: [], answerMs: [], idle: [] };
  const hear = (facts: object, message: string): void => {
    if (message === 'a clone runs') found.runningMs.push((facts as { ms: number }).ms);
  };
  const log: Log = { ...silentLog, debug: hear, child: () => log };
  const runtime = await createQemuRuntime(optionsFor(bench.stage.folder('machines'), name, { log }));
  let booted = 0;
  const boot = (): Promise<Vm> => {
    const id = `vm_bench${(booted += 1)}`;
    return runtime.boot(
      { id, kind: 'headless', priority: 'normal', acceptEgress: (way) => void way.destroy() },
      { signal: AbortSignal.timeout(fillMsMax) },
    );
  };
  await (await boot()).destroy();
  found.runningMs.length = 0;
  for (let run = 1; run <= runs; run += 1) {
    bench.say(`boot ${run} of ${runs}`);
    const [vm, ms] = await timed(boot);
    found.answerMs.push(ms);
    await vm.destroy();
    const [raw, rawMs] = await timed(() => launchRaw(bench.stage, bench.chromium));
    found.rawMs.push(rawMs);
    await buryRaw(bench.stage, raw);
    await calm();
  }
  found.idle = await keepIdle(bench, boot);
  await runtime.close();
  return found;
}

/** With no template there: each kind is built, saved and tried. In seconds. */
async function buildTemplates(bench: Bench, name: RuntimeName): Promise<{ kind: string; seconds: number }[]> {
  bench.say('templates');
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

interface Cloned {
  runtime: RuntimeName;
  /** From the request to the session with its browser's first answer, with an empty pool. */
  createMs: number[];
  navigateMs: number[];
}

async function cloneEach(bench: Bench, berth: Berth, runs: number): Promise<Cloned> {
  const found: Cloned = { runtime: 'qemu-tcg', createMs: [], navigateMs: [] };
  for (let run = 1; run <= runs; run += 1) {
    bench.say(`clone ${run} of ${runs}`);
    const [session, createMs] = await timed(() => berth.create());
    const [, navigateMs] = await timed(() => berth.navigate(session.session_id, bench.site.url));
    found.runtime = await runtimeOf(berth, session.session_id);
    found.createMs.push(createMs);
    found.navigateMs.push(navigateMs);
    await berth.delete(session.session_id);
    await calm();
  }
  return found;
}

/** Handed out of the pool: each waits until one is warm again, and only the handing out is timed. */
async function handOutEach(bench: Bench, runs: number): Promise<number[]> {
  const berth = await startWith(bench, 1);
  const times: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    bench.say(`warm machine ${run} of ${runs}`);
    await berth.poolFull(fillMsMax);
    const [session, ms] = await timed(() => berth.create());
    if (!session.warm) throw new Error('the machine was not warm');
    times.push(ms);
    await berth.delete(session.session_id);
  }
  await berth.stop();
  return times;
}

interface Company {
  machines: number;
  own: number;
  shared: number;
  /** Share of one processor that each uses when nothing is asked of it. */
  idlePercent: number;
}

async function look(machines: number, pids: number[]): Promise<Company> {
  await wait(idleMs / 2);
  const before = processorMs(pids);
  await wait(idleMs);
  const usedMs = [...processorMs(pids)].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? ms), 0);
  const { own, shared } = ownAndSharedMb(pids);
  return { machines, own: own / machines, shared: shared / machines, idlePercent: (100 * usedMs) / idleMs / machines };
}

/** Sessions, each with a page open that nobody looks at. */
async function keepSessions(bench: Bench, berth: Berth): Promise<Company> {
  const sessions: string[] = [];
  while (sessions.length < sessionsAtOnce) {
    bench.say(`session ${sessions.length + 1} at once`);
    const { session_id: id } = await berth.create();
    await berth.navigate(id, bench.site.url);
    sessions.push(id);
  }
  const pids = machineProcs(berth).map(({ pid }) => pid);
  const found = await look(sessionsAtOnce, pids);
  for (const id of sessions) await berth.delete(id);
  return found;
}

/** As they wait in the pool. */
async function keepIdle(bench: Bench, boot: () => Promise<Vm>): Promise<Company[]> {
  const found: Company[] = [];
  const idle: Vm[] = [];
  for (const machines of [1, 3, companyMax]) {
    bench.say(`${machines} idle machines at once`);
    while (idle.length < machines) idle.push(await boot());
    found.push(
      await look(
        machines,
        idle.flatMap(({ pid }) => (pid === null ? [] : pidsOf(pid))),
      ),
    );
  }
  for (const vm of idle) await vm.destroy();
  return found;
}

export async function machines(bench: Bench): Promise<Section> {
  if (!bench.withBerth || !existsSync(join(imagesFolder, 'current')))
    return {
      name: 'machines',
      columns: ['left out'],
      rows: [],
      checks: [],
      notes: [`There is no image in ${imagesFolder}: npm run image`],
    };
  const runs = bench.runs ?? runsDefault;
  const berth = await startWith(bench, 0);
  const cloned = await cloneEach(bench, berth, runs);
  const sessions = await keepSessions(bench, berth);
  await berth.stop();
  const warm = await handOutEach(bench, runs);
  const booted = await bootEach(bench, cloned.runtime, runs);
  const templates = await buildTemplates(bench, cloned.runtime);
  return reportOf({ cloned, sessions, warm, booted, templates });
}

const companyOf = ({ own, shared, idlePercent }: Company): string =>
  [own, shared, idlePercent].map((value) => value.toFixed(1)).join(' / ');

interface Measured {
  cloned: Cloned;
  sessions: Company;
  warm: number[];
  booted: Booted;
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
      ['a warm machine handed out, ms', spread(warm), warm.length],
      ...templates.map(({ kind, seconds }) => [`a template of ${kind}, built and tried, s`, seconds.toFixed(1), 1]),
      ...booted.idle.map((idle) => [`${idle.machines} idle, for each: own / shared MB / % of a processor`, companyOf(idle), idle.machines]),
      [`${sessions.machines} sessions with a page, for each: own / shared MB / % of a processor`, companyOf(sessions), sessions.machines],
    ],
    checks: [
      check('clone to running, p50', summarize(booted.runningMs).p50, runningMs, 'ms'),
      check('clone to first answer, p50', summarize(booted.answerMs).p50, firstAnswerMs, 'ms'),
      check('a warm machine handed out, p50', summarize(warm).p50, 25, 'ms'),
      check(`own memory of an idle machine, ${companyMax} at once`, last?.own, ownMb, 'MB'),
      check('an idle machine, of one processor', last?.idlePercent, 10, '%'),
      ...templates.map(({ kind, seconds }) => check(`a template of ${kind}`, seconds, 90, 's')),
    ],
    notes: [`Taken with ${name}.${name === 'KVM' ? '' : ' A host with KVM is some ten to thirty times faster, and was not seen.'}`],
  };
}
