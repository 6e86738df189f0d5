/** Virtual machines: how soon one is there, what it takes of its own, and what it does when nothing is asked of it. Every figure is of KVM or of emulation, and says so. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Berth, type BerthOrder } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, spread, summarize } from '../figures.ts';
import { machineProcs } from '../machine-procs.ts';
import { calm, ownAndSharedMb, processorMs } from '../proc.ts';

const imagesFolder = process.env['BERTH_IMAGES_DIR'] ?? join(import.meta.dirname, '../../data/images');
const runsDefault = 20;
const companyMax = 6;
const idleMs = 20_000;
const fillMsMax = 300_000;

/** `kvm` and `tcg` are held to different targets; of KVM nothing has been measured by us. */
const targetsOf = {
  'qemu-kvm': { name: 'KVM', firstAnswerMs: 300, ownMb: 150 },
  'qemu-tcg': { name: 'emulation', firstAnswerMs: 3000, ownMb: 350 },
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

/** Each has a page open, like a session that somebody uses. */
async function keepCompany(bench: Bench, berth: Berth): Promise<Company[]> {
  const found: Company[] = [];
  const sessions: string[] = [];
  for (const machines of [1, 3, companyMax]) {
    while (sessions.length < machines) {
      bench.say(`${sessions.length + 1} machines at once`);
      sessions.push((await berth.create()).session_id);
    }
    await wait(idleMs / 2);
    const pids = machineProcs(berth).map(({ pid }) => pid);
    const before = processorMs(pids);
    await wait(idleMs);
    const usedMs = [...processorMs(pids)].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? ms), 0);
    const { own, shared } = ownAndSharedMb(pids);
    found.push({ machines, own: own / machines, shared: shared / machines, idlePercent: (100 * usedMs) / idleMs / machines });
  }
  for (const id of sessions) await berth.delete(id);
  return found;
}

export async function machines(bench: Bench): Promise<Section> {
  if (!bench.withBerth || !existsSync(join(imagesFolder, 'current')))
    return { name: 'machines', columns: ['left out'], rows: [], checks: [], notes: [`There is no image in ${imagesFolder}: npm run image`] };
  const runs = bench.runs ?? runsDefault;
  const berth = await startWith(bench, 0);
  const cloned = await cloneEach(bench, berth, runs);
  const company = await keepCompany(bench, berth);
  await berth.stop();
  const warm = await handOutEach(bench, runs);
  const { name, firstAnswerMs, ownMb } = targetsOf[cloned.runtime];
  const last = company.at(-1);
  const checks: Check[] = [
    { what: `clone to a session, p50 (${name})`, measured: summarize(cloned.createMs).p50, target: firstAnswerMs, rule: 'at most', unit: 'ms' },
    { what: `a warm machine handed out, p50 (${name})`, measured: summarize(warm).p50, target: 25, rule: 'at most', unit: 'ms' },
    { what: `a machine's own memory, ${companyMax} at once (${name})`, measured: last?.own ?? Number.NaN, target: ownMb, rule: 'at most', unit: 'MB' },
    { what: `an idle machine, of one processor (${name})`, measured: last?.idlePercent ?? Number.NaN, target: 10, rule: 'at most', unit: '%' },
  ];
  return {
    name: `machines (${name})`,
    columns: ['what', 'p50 / p95 / p99', 'n'],
    rows: [
      ['clone to a session with its browser’s first answer, ms', spread(cloned.createMs), cloned.createMs.length],
      ['its first page, ms', spread(cloned.navigateMs), cloned.navigateMs.length],
      ['a warm machine handed out, ms', spread(warm), warm.length],
      ...company.map(({ machines: count, own, shared, idlePercent }) => [
        `${count} at once, for each: own / shared MB / idle % of a processor`,
        [own, shared, idlePercent].map((value) => value.toFixed(1)).join(' / '),
        count,
      ]),
    ],
    checks,
    notes: [`Taken with ${name}.${name === 'KVM' ? '' : ' A host with KVM is some ten to thirty times faster, and was not seen.'}`],
  };
}
