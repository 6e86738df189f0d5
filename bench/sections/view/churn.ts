import { setTimeout as sleep } from 'node:timers/promises';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, slopeOf, spread } from '../../figures.ts';
import { bytesRead, descriptorsOf, memoryMb } from '../../proc.ts';
import { Viewer, liveAddress, viewersOf } from '../../view/viewer.ts';
import { countsOf } from './counts.ts';

const viewersInWave = 20;
/** Unmeasured: they load what later waves share. */
const warmUpWaves = 2;
const stopWatchMs = 10_000;
const sampleMs = 100;
/** Frames of a moving page exceed this per sample; other reads stay below. */
const frameBytesMin = 30_000;
const releaseTimeoutMs = 5000;

interface Resources {
  files: number;
  sockets: number;
  viewers: number;
}

const resourceKinds = ['files', 'sockets', 'viewers'] as const;

interface Wave {
  firstFrames: number[];
  failures: string[];
}

/** Half of the viewers close, the others disconnect abruptly. */
async function runWave(berth: Berth, sessionId: string): Promise<Wave> {
  const addresses = await Promise.all(Array.from({ length: viewersInWave }, () => liveAddress(berth, sessionId)));
  const wave: Wave = { firstFrames: [], failures: [] };
  const visit = async (address: string, i: number): Promise<void> => {
    const viewer = await Viewer.open(address);
    wave.firstFrames.push((await viewer.firstFrameMs()).sinceOpen);
    if (i % 2 === 0) await viewer.close();
    else viewer.terminate();
  };
  const settled = await Promise.allSettled(addresses.map(visit));
  wave.failures.push(...settled.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : [])));
  return wave;
}

const measureResources = async (berth: Berth, sessionId: string): Promise<Resources> => ({
  ...descriptorsOf(berth.pid),
  viewers: await viewersOf(berth, sessionId),
});

async function waitForRelease(berth: Berth, sessionId: string, before: Resources): Promise<Resources> {
  const deadline = performance.now() + releaseTimeoutMs;
  for (;;) {
    const now = await measureResources(berth, sessionId);
    if (resourceKinds.every((kind) => now[kind] <= before[kind]) || performance.now() > deadline) return now;
    await sleep(sampleMs);
  }
}

/** Returns the ms until the worker reads no more frames, while the page keeps moving. */
async function timeToSilence(berth: Berth): Promise<number> {
  const started = performance.now();
  let [lastFrameMs, before] = [0, bytesRead(berth.pid)];
  while (performance.now() - started < stopWatchMs) {
    await sleep(sampleMs);
    const now = bytesRead(berth.pid);
    if (now - before >= frameBytesMin) lastFrameMs = performance.now() - started;
    before = now;
  }
  return lastFrameMs;
}

interface ChurnResult {
  waves: Wave[];
  memory: number[];
  before: Resources;
  after: Resources;
  silenceMs: number;
}

async function measure(bench: Bench, berth: Berth): Promise<ChurnResult> {
  const { session_id: sessionId } = await berth.create();
  await berth.navigate(sessionId, bench.site.movingUrl);
  for (let wave = 0; wave < warmUpWaves; wave += 1) await runWave(berth, sessionId);
  await sleep(releaseTimeoutMs);
  const before = await measureResources(berth, sessionId);
  const waves: Wave[] = [];
  const memory = [memoryMb([berth.pid])];
  const count = countsOf(bench.runs).waves;
  for (let wave = 1; wave <= count; wave += 1) {
    bench.reportProgress(`${viewersInWave} viewers come and go, ${wave} of ${count}`);
    waves.push(await runWave(berth, sessionId));
    memory.push(memoryMb([berth.pid]));
  }
  bench.reportProgress('after the last viewer');
  const silenceMs = await timeToSilence(berth);
  const after = await waitForRelease(berth, sessionId, before);
  memory.push(memoryMb([berth.pid]));
  return { waves, memory, before, after, silenceMs };
}

function checksOf({ waves, memory, before, after, silenceMs }: ChurnResult): Check[] {
  const failed = waves.flatMap(({ failures }) => failures).length;
  return [
    { what: 'viewers that saw nothing', measured: failed, target: 0, rule: 'at most', unit: '' },
    ...resourceKinds.map((kind): Check => ({
      what: `left over: ${kind}`,
      measured: Math.max(0, after[kind] - before[kind]),
      target: 0,
      rule: 'at most',
      unit: '',
    })),
    { what: 'viewers that the session counts', measured: after.viewers, target: 0, rule: 'at most', unit: '' },
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

/** Waves of twenty viewers that join and leave. `--runs` sets the number of waves. */
export async function churn(bench: Bench): Promise<Section> {
  const name = 'view: viewers that come and go';
  const columns = ['p50 / p95 / p99', 'n', 'ok %', 'first frame ms', 'worker MB before', 'highest', 'after', 'slope KB a wave'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const result = await measure(bench, berth);
  await berth.stop();
  const { waves, memory } = result;
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
    checks: checksOf(result),
    notes: failures.length > 0 ? [`first failure: ${failures[0]}`] : [],
  };
}
