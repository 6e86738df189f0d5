import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordingResponse } from '@berth/contract';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import type { Check, Section } from '../../figures.ts';
import { type Load, groupsOfBerth, loadOver } from '../../view/load.ts';
import { waitForIdleCpu } from '../../proc.ts';
import { countsOf } from './counts.ts';

const warmUpMs = 3000;
const segmentTimeoutMs = 20_000;
const finishTimeoutMs = 20_000;
const pollMs = 50;
const segment = /^seg\d+\.m4s$/m;

interface Case {
  name: string;
  url: string;
  record: boolean;
}

interface CaseResult extends Case {
  load: Load;
  /** Time from the create response until there is a segment to play. */
  segmentMs: number;
  /** Time from the delete call until the recording has ended. */
  finishMs: number;
  recording: RecordingResponse | null;
}

const listOf = async (berth: Berth, sessionId: string): Promise<RecordingResponse[]> =>
  (await berth.get(`/v1/session/${sessionId}/recordings`)).json() as Promise<RecordingResponse[]>;

/** Returns NaN on a timeout. */
async function timeUntil(timeoutMs: number, isDone: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < timeoutMs) {
    if (await isDone()) return performance.now() - started;
    await sleep(pollMs);
  }
  return Number.NaN;
}

/** The playlist is created with the first segment. */
async function hasSegment(berth: Berth, sessionId: string, recId: string): Promise<boolean> {
  const playlist = await berth.get(`/v1/session/${sessionId}/recordings/${recId}/video.m3u8`).then(
    (response) => response.text(),
    () => '',
  );
  return segment.test(playlist);
}

async function measureCase(berth: Berth, one: Case, seconds: number): Promise<CaseResult> {
  const { session_id: sessionId } = await berth.create({ record: one.record });
  const created = performance.now();
  await berth.navigate(sessionId, one.url);
  const [recording] = await listOf(berth, sessionId);
  const { rec_id: recId = '' } = recording ?? {};
  const waited = performance.now() - created;
  const segmentMs = one.record ? waited + (await timeUntil(segmentTimeoutMs, () => hasSegment(berth, sessionId, recId))) : Number.NaN;
  await sleep(warmUpMs);
  const load = await loadOver(seconds, groupsOfBerth(berth));
  await berth.delete(sessionId);
  if (!one.record) return { ...one, load, segmentMs, finishMs: Number.NaN, recording: null };
  let last: RecordingResponse | null = null;
  const finishMs = await timeUntil(finishTimeoutMs, async () => {
    [last = null] = await listOf(berth, sessionId);
    return last !== null && last.status !== 'recording';
  });
  return { ...one, load, segmentMs, finishMs, recording: last };
}

const megabytesInMinute = ({ recording }: CaseResult): number =>
  recording ? recording.size_bytes / 1024 ** 2 / (recording.duration_ms / 60_000) : Number.NaN;

/** CPU use of the encoder, and what the recording adds to the worker's. */
const costOf = (recorded: CaseResult, plain: CaseResult | undefined): number =>
  recorded.load.worker + recorded.load.encoder - (plain?.load.worker ?? Number.NaN);

function checksOf(results: readonly CaseResult[]): Check[] {
  return results.flatMap((each): Check[] => {
    if (!each.record) return [];
    const plain = results.find(({ url, record }) => url === each.url && !record);
    return [
      {
        what: `${each.name}: worker, more than without, and encoder`,
        measured: costOf(each, plain),
        target: 10,
        rule: 'at most',
        unit: '%',
      },
      { what: `${each.name}: the first segment after the creation`, measured: each.segmentMs, target: 8000, rule: 'at most', unit: 'ms' },
      { what: `${each.name}: complete`, measured: Number(each.recording?.status === 'complete'), target: 1, rule: 'at least', unit: '' },
    ];
  });
}

/** Cost of recording a moving and a quiet page, compared with the same session without recording. */
export async function recording(bench: Bench): Promise<Section> {
  const columns = ['', 'worker %', 'encoder %', 'browser %', 'MB a minute', 'first segment ms', 'whole after end ms', 'status'];
  const { recordSeconds } = countsOf(bench.runs);
  const name = `view: a recording at 1280×720, ${recordSeconds} s each`;
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const results: CaseResult[] = [];
  for (const page of [
    { name: 'moving page', url: bench.site.movingUrl },
    { name: 'quiet page', url: bench.site.url },
  ]) {
    for (const record of [false, true]) {
      bench.reportProgress(`${page.name}, ${record ? 'recorded' : 'not recorded'}`);
      await waitForIdleCpu(3000);
      results.push(await measureCase(berth, { ...page, record }, recordSeconds));
    }
  }
  await berth.stop();
  return {
    name,
    columns,
    rows: results.map((each) => [
      `${each.name}, ${each.record ? 'recorded' : 'not recorded'}`,
      each.load.worker,
      each.load.encoder,
      each.load.browser,
      megabytesInMinute(each),
      each.segmentMs,
      each.finishMs,
      each.recording?.status ?? '–',
    ]),
    checks: checksOf(results),
    notes: ['percent of one core'],
  };
}
