import { setTimeout as wait } from 'node:timers/promises';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, slopeOf, spread } from '../../figures.ts';
import { bytesRead, descriptorsOf, memoryMb } from '../../proc.ts';
import { Viewer, liveAddress, viewersOf } from '../../viewer.ts';
import { countsOf } from './counts.ts';

const viewersInWave = 20;
/** The first waves load what every later one shares. */
const warmUpWaves = 2;
const stopWatchMs = 10_000;
const sampleMs = 100;
/** Frames of a page that moves come in at more than this in such a time; what else the service reads is less. */
const framesBytesLeast = 30_000;
const settleMsMax = 5000;

interface Held {
  files: number;
  sockets: number;
  viewers: number;
}

const heldKinds = ['files', 'sockets', 'viewers'] as const;

interface Wave {
  firstFrames: number[];
  failures: string[];
}

/** Half of them close, the others are cut off. */
async function runWave(berth: Berth, sessionId: string): Promise<Wave> {
  const addresses = await Promise.all(Array.from({ length: viewersInWave }, () => liveAddress(berth, sessionId)));
  const wave: Wave = { firstFrames: [], failures: [] };
  const visit = async (address: string, i: number): Promise<void> => {
    const viewer = await Viewer.open(address);
    wave.firstFrames.push((await viewer.firstFrameMs()).sinceOpen);
    if (i % 2 === 0) await viewer.close();
    else viewer.cut();
  };
  const settled = await Promise.allSettled(addresses.map(visit));
  wave.failures.push(...settled.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : [])));
  return wave;
}

const heldBy = async (berth: Berth, sessionId: string): Promise<Held> => ({
  ...descriptorsOf(berth.pid),
  viewers: await viewersOf(berth, sessionId),
});

async function settle(berth: Berth, sessionId: string, before: Held): Promise<Held> {
  const deadline = performance.now() + settleMsMax;
  for (;;) {
    const now = await heldBy(berth, sessionId);
    if (heldKinds.every((kind) => now[kind] <= before[kind]) || performance.now() > deadline) return now;
    await wait(sampleMs);
  }
}

/** Milliseconds until the worker reads no more frames from its browser, whose page goes on moving. */
async function timeToSilence(berth: Berth): Promise<number> {
  const started = performance.now();
  let [lastFrameMs, before] = [0, bytesRead(berth.pid)];
  while (performance.now() - started < stopWatchMs) {
    await wait(sampleMs);
    const now = bytesRead(berth.pid);
    if (now - before >= framesBytesLeast) lastFrameMs = performance.now() - started;
    before = now;
  }
  return lastFrameMs;
}

interface Found {
  waves: Wave[];
  memory: number[];
  before: Held;
  after: Held;
  silenceMs: number;
}

async function measure(bench: Bench, berth: Berth): Promise<Found> {
  const { session_id: sessionId } = await berth.create();
  await berth.navigate(sessionId, bench.site.movingUrl);
  for (let wave = 0; wave < warmUpWaves; wave += 1) await runWave(berth, sessionId);
  await wait(settleMsMax);
  const before = await heldBy(berth, sessionId);
  const waves: Wave[] = [];
  const memory = [memoryMb([berth.pid])];
  const count = countsOf(bench.runs).waves;
  for (let wave = 1; wave <= count; wave += 1) {
    bench.say(`${viewersInWave} viewers come and go, ${wave} of ${count}`);
    waves.push(await runWave(berth, sessionId));
    memory.push(memoryMb([berth.pid]));
  }
  bench.say('after the last viewer');
  const silenceMs = await timeToSilence(berth);
  const after = await settle(berth, sessionId, before);
  memory.push(memoryMb([berth.pid]));
  return { waves, memory, before, after, silenceMs };
}

function checksOf({ waves, memory, before, after, silenceMs }: Found): Check[] {
  const failed = waves.flatMap(({ failures }) => failures).length;
  return [
    { what: 'viewers that saw nothing', measured: failed, target: 0, rule: 'at most', unit: '' },
    ...heldKinds.map((kind): Check => ({
      what: `left over: ${kind}`,
      measured: Math.max(0, after[kind] - before[kind]),
      target: 0,
      rule: 'at most',
      unit: '',
    })),
    { what: 'viewers that the session tells', measured: after.viewers, target: 0, rule: 'at most', unit: '' },
    {
      what: 'worker, at the end more than before',
      measured: (memory.at(-1) ?? 0) - (memory[0] ?? 0),
      target: 8,
      rule: 'at most',
      unit: 'MB',
    },
    { what: 'the browser draws no more after the last viewer', measured: silenceMs, target: 5000, rule: 'at most', unit: 'ms' },
  ];
}

/** Viewers that come and go by twenties. `--runs` sets how many times. */
export async function churn(bench: Bench): Promise<Section> {
  const name = 'view: viewers that come and go';
  const columns = ['p50 / p95 / p99', 'n', 'ok %', 'first frame ms', 'worker MB before', 'highest', 'after', 'slope KB a wave'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const found = await measure(bench, berth);
  await berth.stop();
  const { waves, memory } = found;
  const [firstFrames, failures] = [waves.flatMap((wave) => wave.firstFrames), waves.flatMap((wave) => wave.failures)];
  const n = waves.length * viewersInWave;
  const slopeKb = 1024 * slopeOf(memory.slice(Math.floor(memory.length / 2), -1));
  return {
    name,
    columns,
    rows: [
      [
        `${viewersInWave} at once`,
        n,
        (100 * (n - failures.length)) / n,
        spread(firstFrames),
        memory[0] ?? 0,
        Math.max(...memory),
        memory.at(-1) ?? 0,
        slopeKb,
      ],
    ],
    checks: checksOf(found),
    notes: failures.length > 0 ? [`first failure: ${failures[0]}`] : [],
  };
}
