import { setTimeout as sleep } from 'node:timers/promises';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { type ReceivedFrame, gapsOf } from '../../view/frame-log.ts';
import { type Load, type LoadGroups, groupsOfBerth, loadOver } from '../../view/load.ts';
import { waitForIdleCpu } from '../../proc.ts';
import { RawCast } from '../../view/raw-cast.ts';
import { Viewer, liveAddress } from '../../view/viewer.ts';
import { countsOf } from './counts.ts';

const rounds = 2;
const manyViewers = 10;
/** Time until frame rate and frame size are stable. */
const warmUpMs = 2500;

interface Subject {
  name: string;
  viewers: number;
  groups: LoadGroups;
  /** Preparation that is not measured. */
  begin(): Promise<void>;
  /** Returns the frames of each viewer since the last call. Throws if a viewer was disconnected. */
  takeFrames(): ReceivedFrame[][];
  end(): Promise<void>;
}

interface Line extends Subject {
  loads: Load[];
  ages: number[];
  gaps: number[];
  bytes: number[];
  /** Frames a second of each viewer. */
  rates: number[];
  failures: string[];
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const minOf = (values: readonly number[]): number => (values.length > 0 ? Math.min(...values) : Number.NaN);

/** This process reads the frames, and does nothing else. */
function rawSubject(cast: RawCast, { site }: Bench): Subject {
  return {
    name: 'raw screencast',
    viewers: 1,
    groups: () => ({ worker: [process.pid], browser: cast.pids, encoder: [] }),
    begin: async () => {
      await cast.navigate(site.movingUrl);
      await cast.start();
    },
    takeFrames: () => [cast.frames.take()],
    end: async () => {
      await cast.stop();
      await cast.navigate(site.url);
    },
  };
}

function berthSubject(berth: Berth, sessionId: string, { site, viewers: count }: { site: Bench['site']; viewers: number }): Subject {
  const viewers: Viewer[] = [];
  return {
    name: count === 0 ? 'berth, no viewers' : `berth, ${count} viewers`,
    viewers: count,
    groups: groupsOfBerth(berth),
    begin: async () => {
      await berth.navigate(sessionId, site.movingUrl);
      while (viewers.length < count) viewers.push(await Viewer.open(await liveAddress(berth, sessionId)));
    },
    takeFrames: () =>
      viewers.map((viewer) => {
        viewer.assertOpen();
        return viewer.frames.take();
      }),
    end: async () => {
      for (const viewer of viewers.splice(0)) await viewer.close();
      await berth.navigate(sessionId, site.url);
    },
  };
}

async function runOnce(line: Line, seconds: number): Promise<void> {
  await line.begin();
  try {
    await sleep(warmUpMs);
    line.takeFrames();
    line.loads.push(await loadOver(seconds, line.groups));
    const received = line.takeFrames();
    line.rates.push(...received.map((frames) => frames.length / seconds));
    line.ages.push(...received.flat().map(({ ageMs }) => ageMs));
    line.gaps.push(...received.flatMap(gapsOf));
    line.bytes.push(...received.flat().map(({ bytes }) => bytes));
  } catch (error) {
    line.failures.push(error instanceof Error ? error.message : String(error));
  } finally {
    await line.end();
  }
}

const load = ({ loads }: Line, of: keyof Load): number => mean(loads.map((each) => each[of]));

function rowOf(line: Line): Section['rows'][number] {
  const { name, viewers, loads, failures, rates, ages, gaps, bytes } = line;
  const ok = (100 * loads.length) / (loads.length + failures.length);
  const ofFrames = ages.length === 0 ? ['–', '–'] : [spread(ages), spread(gaps)];
  const client = viewers > 0 && name.startsWith('berth') ? load(line, 'client') : Number.NaN;
  return [name, ages.length, ok, mean(rates), ...ofFrames, mean(bytes) / 1024, load(line, 'worker'), load(line, 'browser'), client];
}

function checksOf(lines: readonly Line[]): Check[] {
  const [one, many] = [1, manyViewers].map((count) => lines.find(({ name, viewers }) => name.startsWith('berth') && viewers === count));
  if (!one || !many) return [];
  return [
    { what: 'one viewer: frames a second', measured: minOf(one.rates), target: 10, rule: 'at least', unit: '' },
    { what: 'one viewer: age of a frame p95', measured: summarize(one.ages).p95, target: 200, rule: 'at most', unit: 'ms' },
    { what: 'one viewer: worker, of a core', measured: load(one, 'worker'), target: 35, rule: 'at most', unit: '%' },
    {
      what: `${manyViewers} viewers: worker, of one viewer's`,
      measured: load(many, 'worker') / load(one, 'worker'),
      target: 2,
      rule: 'at most',
      unit: '×',
    },
    {
      what: `${manyViewers} viewers: frames a second, the one with fewest`,
      measured: minOf(many.rates),
      target: 10,
      rule: 'at least',
      unit: '',
    },
    { what: 'viewers that were lost', measured: one.failures.length + many.failures.length, target: 0, rule: 'at most', unit: '' },
  ];
}

/** A moving page with no, one and ten viewers, compared with a raw screencast. */
export async function moving(bench: Bench): Promise<Section> {
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  const cast = await RawCast.launch(bench);
  const sessionId = berth ? (await berth.create()).session_id : '';
  const ofBerth = berth ? [0, 1, manyViewers].map((viewers) => berthSubject(berth, sessionId, { site: bench.site, viewers })) : [];
  const lines = [rawSubject(cast, bench), ...ofBerth].map((subject): Line => ({
    ...subject,
    loads: [],
    ages: [],
    gaps: [],
    bytes: [],
    rates: [],
    failures: [],
  }));
  const { seconds } = countsOf(bench.runs);
  for (let round = 0; round < rounds; round += 1) {
    for (const line of round % 2 === 0 ? lines : lines.toReversed()) {
      bench.reportProgress(`a page that moves, round ${round + 1} of ${rounds}, ${line.name}`);
      await waitForIdleCpu(3000);
      await runOnce(line, seconds);
    }
  }
  await berth?.stop();
  return {
    name: `view: a page that moves, 1280×720, ${rounds} times ${seconds} s`,
    columns: ['p50 / p95 / p99', 'frames', 'ok %', 'frames/s', 'age ms', 'gap ms', 'KB a frame', 'worker %', 'browser %', 'client %'],
    rows: lines.map(rowOf),
    checks: checksOf(lines),
    notes: [
      'percent of one core; raw’s worker is the process that reads, decodes and acknowledges its frames',
      'age is from the browser’s own time stamp, on the same clock; frames a second are of each viewer',
      ...lines.flatMap(({ name, failures }) => failures.map((failure) => `${name}: ${failure}`)),
    ],
  };
}
