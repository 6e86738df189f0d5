import { setTimeout as sleep } from 'node:timers/promises';
import { framesInFlightMax } from '@berth/contract/live-view';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Section, spread, summarize } from '../../figures.ts';
import { gapsOf } from '../../view/frame-log.ts';
import { groupsOfBerth, loadOver } from '../../view/load.ts';
import { memoryMb } from '../../proc.ts';
import { Viewer, liveAddress } from '../../view/viewer.ts';
import { countsOf } from './counts.ts';

const warmUpMs = 2500;
/** Frames that are sent to a reading viewer are never this old. */
const oldFrameMs = 1000;
const stalledViewers = 3;

interface Phase {
  name: string;
  seconds: number;
  rate: number;
  ages: number[];
  gaps: number[];
  /** Memory of the worker, each second, in MB. */
  memory: number[];
  worker: number;
}

async function sampleMemory(berth: Berth, seconds: number): Promise<number[]> {
  const samples: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1000);
    samples.push(memoryMb([berth.pid]));
  }
  return samples;
}

async function phase(
  name: string,
  { berth, activeViewer, seconds }: { berth: Berth; activeViewer: Viewer; seconds: number },
): Promise<Phase> {
  await sleep(warmUpMs);
  activeViewer.frames.take();
  const [load, memory] = await Promise.all([loadOver(seconds, groupsOfBerth(berth)), sampleMemory(berth, seconds)]);
  activeViewer.assertOpen();
  const frames = activeViewer.frames.take();
  return {
    name,
    seconds,
    rate: frames.length / seconds,
    ages: frames.map(({ ageMs }) => ageMs),
    gaps: gapsOf(frames),
    memory,
    worker: load.worker,
  };
}

/** Counts the frames that were queued for a stalled viewer: old frames that arrive first when it resumes. */
async function countQueuedFrames(viewer: Viewer): Promise<number> {
  viewer.frames.take();
  viewer.resume();
  await sleep(oldFrameMs);
  return viewer.frames.take().filter(({ ageMs }) => ageMs > oldFrameMs).length;
}

const watch = async (berth: Berth, sessionId: string): Promise<Viewer> => Viewer.open(await liveAddress(berth, sessionId));

async function measure(bench: Bench, berth: Berth): Promise<{ phases: Phase[]; queuedFrames: number[] }> {
  const { session_id: sessionId } = await berth.create();
  await berth.navigate(sessionId, bench.site.movingUrl);
  const { seconds } = countsOf(bench.runs);
  const activeViewer = await watch(berth, sessionId);
  // The heap grows to what the frames need in the first seconds of watching.
  await phase('warm-up', { berth, activeViewer, seconds });
  const phases: Phase[] = [];
  bench.reportProgress('a good viewer alone');
  phases.push(await phase('alone', { berth, activeViewer, seconds }));
  const stalled = await Promise.all(Array.from({ length: stalledViewers }, () => watch(berth, sessionId)));
  for (const viewer of stalled) viewer.stall();
  bench.reportProgress(`beside ${stalledViewers} that read nothing`);
  phases.push(await phase(`beside ${stalledViewers} that read nothing`, { berth, activeViewer, seconds }));
  const queuedFrames = await Promise.all(stalled.map(countQueuedFrames));
  for (const viewer of [...stalled, activeViewer]) await viewer.close();
  return { phases, queuedFrames };
}

/** Stalled viewers beside an active one. */
export async function stalled(bench: Bench): Promise<Section> {
  const name = 'view: viewers that read nothing, beside one that does';
  const columns = ['p50 / p95 / p99', 'seconds', 'frames/s', 'age ms', 'gap ms', 'worker %', 'worker MB p50', 'worker MB max'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const { phases, queuedFrames } = await measure(bench, berth);
  await berth.stop();
  const [alone, beside] = phases;
  return {
    name,
    columns,
    rows: phases.map((each) => [
      each.name,
      each.seconds,
      each.rate,
      spread(each.ages),
      spread(each.gaps),
      each.worker,
      summarize(each.memory).p50,
      Math.max(...each.memory),
    ]),
    checks:
      alone && beside
        ? [
            {
              what: "the good one's frames a second, of those alone",
              measured: beside.rate / alone.rate,
              target: 0.9,
              rule: 'at least',
              unit: '×',
            },
            { what: "the good one's age of a frame p95", measured: summarize(beside.ages).p95, target: 200, rule: 'at most', unit: 'ms' },
            {
              what: 'worker, median over the time, more than alone',
              measured: summarize(beside.memory).p50 - summarize(alone.memory).p50,
              target: 4,
              rule: 'at most',
              unit: 'MB',
            },
            {
              what: 'frames that lay between it and one that read nothing',
              measured: Math.max(...queuedFrames),
              target: framesInFlightMax,
              rule: 'at most',
              unit: '',
            },
          ]
        : [],
    notes: [],
  };
}
