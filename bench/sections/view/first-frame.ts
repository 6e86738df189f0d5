import { setTimeout as sleep } from 'node:timers/promises';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { within } from '../../view/frame-log.ts';
import { waitForIdleCpu } from '../../proc.ts';
import { RawCast } from '../../view/raw-cast.ts';
import { type FirstFrame, Viewer, firstFrameTimeoutMs, liveAddress, viewersOf } from '../../view/viewer.ts';
import { countsOf } from './counts.ts';

/** Runs of one kind in a row, so that the page is loaded once for them. */
const blockRuns = 5;
/** The screencast stops within a second after the last viewer leaves. Only then is the next viewer a first one. */
const idleMs = 1300;
const targetMs = 300;

interface Subject {
  name: string;
  /** Preparation that is not measured. Called before a block. */
  begin(): Promise<void>;
  run(): Promise<FirstFrame>;
  end(): Promise<void>;
}

interface Line extends Subject {
  frames: FirstFrame[];
  failures: string[];
}

function rawSubject(cast: RawCast, page: { name: string; url: string; idleUrl: string }): Subject {
  return {
    name: `raw screencast, ${page.name}`,
    begin: () => cast.navigate(page.url),
    run: async () => {
      await sleep(idleMs);
      const first = cast.frames.next();
      const started = performance.now();
      await cast.start();
      const { atMs } = await within(firstFrameTimeoutMs, 'the first frame', first);
      await cast.stop();
      return { sinceOpen: atMs - started, sinceCall: atMs - started };
    },
    end: () => cast.navigate(page.idleUrl),
  };
}

async function watchOnce(berth: Berth, sessionId: string): Promise<FirstFrame> {
  const viewer = await Viewer.open(await liveAddress(berth, sessionId));
  try {
    return await viewer.firstFrameMs();
  } finally {
    await viewer.close();
  }
}

async function waitForNoViewers(berth: Berth, sessionId: string): Promise<void> {
  while ((await viewersOf(berth, sessionId)) > 0) await sleep(20);
  await sleep(idleMs);
}

function firstSubject(berth: Berth, sessionId: string, page: { name: string; url: string; idleUrl: string }): Subject {
  return {
    name: `first viewer, ${page.name}`,
    begin: () => berth.navigate(sessionId, page.url),
    run: async () => {
      await waitForNoViewers(berth, sessionId);
      return watchOnce(berth, sessionId);
    },
    end: () => berth.navigate(sessionId, page.idleUrl),
  };
}

function newcomerSubject(berth: Berth, sessionId: string, page: { name: string; url: string; idleUrl: string }): Subject {
  let beside: Viewer | null = null;
  return {
    name: `newcomer beside another, ${page.name}`,
    begin: async () => {
      await berth.navigate(sessionId, page.url);
      beside = await Viewer.open(await liveAddress(berth, sessionId));
      await beside.firstFrameMs();
    },
    run: async () => {
      await sleep(idleMs / 4);
      return watchOnce(berth, sessionId);
    },
    end: async () => {
      await beside?.close();
      await berth.navigate(sessionId, page.idleUrl);
    },
  };
}

async function runBlock(line: Line, runs: number): Promise<void> {
  await line.begin();
  await waitForIdleCpu(1000);
  for (let run = 0; run < runs; run += 1) {
    try {
      line.frames.push(await line.run());
    } catch (error) {
      line.failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  await line.end();
}

function checksOf({ name, frames, failures }: Line): Check[] {
  return [
    {
      what: `${name}: first frame p95`,
      measured: summarize(frames.map(({ sinceOpen }) => sinceOpen)).p95,
      target: targetMs,
      rule: 'at most',
      unit: 'ms',
    },
    { what: `${name}: failed`, measured: failures.length, target: 0, rule: 'at most', unit: '' },
  ];
}

async function subjectsOf(bench: Bench, berth: Berth | null): Promise<Subject[]> {
  const { site } = bench;
  const pages = [
    { name: 'quiet page', url: site.url, idleUrl: site.url },
    { name: 'moving page', url: site.movingUrl, idleUrl: site.url },
  ];
  const cast = await RawCast.launch(bench);
  const sessionId = berth ? (await berth.create()).session_id : '';
  return pages.flatMap((page) => [
    rawSubject(cast, page),
    ...(berth ? [firstSubject(berth, sessionId, page), newcomerSubject(berth, sessionId, page)] : []),
  ]);
}

/** Measures from the open live view socket to its first frame; for the raw browser, from the start of its screencast. */
export async function firstFrame(bench: Bench): Promise<Section> {
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  const lines = (await subjectsOf(bench, berth)).map((subject): Line => ({ ...subject, frames: [], failures: [] }));
  const { firstFrames } = countsOf(bench.runs);
  for (let done = 0; done < firstFrames; done += blockRuns) {
    bench.reportProgress(`first frames, ${done} of ${firstFrames}`);
    for (const line of lines) await runBlock(line, Math.min(blockRuns, firstFrames - done));
  }
  await berth?.stop();
  return {
    name: 'view: the first frame after the socket opens',
    columns: ['p50 / p95 / p99', 'n', 'ok %', 'after the socket opens ms', 'with its handshake ms'],
    rows: lines.map(({ name, frames, failures }) => [
      name,
      frames.length + failures.length,
      (100 * frames.length) / (frames.length + failures.length),
      spread(frames.map(({ sinceOpen }) => sinceOpen)),
      spread(frames.map(({ sinceCall }) => sinceCall)),
    ]),
    checks: lines.filter(({ name }) => !name.startsWith('raw')).flatMap(checksOf),
    notes: lines.flatMap(({ name, failures }) =>
      failures.length > 0 ? [`${name} failed ${failures.length} times, first: ${failures[0]}`] : [],
    ),
  };
}
