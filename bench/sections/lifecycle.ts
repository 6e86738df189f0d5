import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, summarize } from '../figures.ts';
import { type Outcome, interleave, outcomeColumns, outcomeRows, successPercent, times } from '../interleave.ts';
import { berthSubject, rawSubject, rawWarmSubject } from '../subjects.ts';

const runsDefault = 200;

function checksOf(outcomes: readonly Outcome[], atOnce: number): Check[] {
  const raw = outcomes.find(({ name }) => name === 'raw');
  const berth = outcomes.find(({ name }) => name === 'berth');
  if (!raw || !berth) return [];
  const ratio = (percentile: 'p50' | 'p99'): number =>
    summarize(times(berth, 'total'))[percentile] / summarize(times(raw, 'total'))[percentile];
  const label = atOnce === 1 ? 'one at a time' : `${atOnce} at once`;
  const whole: Check[] = [
    { what: `whole, ${label}: p50 of raw's`, measured: ratio('p50'), target: atOnce === 1 ? 0.25 : 0.3, rule: 'at most', unit: '×' },
    { what: `whole, ${label}: p99 of raw's`, measured: ratio('p99'), target: 0.5, rule: 'at most', unit: '×' },
    { what: `whole, ${label}: success`, measured: successPercent(berth), target: 100, rule: 'at least', unit: '%' },
  ];
  if (atOnce !== 1) return whole;
  return [
    ...whole,
    { what: 'create p50', measured: summarize(times(berth, 'create')).p50, target: 15, rule: 'at most', unit: 'ms' },
    { what: 'delete p50', measured: summarize(times(berth, 'release')).p50, target: 15, rule: 'at most', unit: 'ms' },
  ];
}

/** Create, connect, navigate and delete with a warm machine: one at a time and four at once. */
export async function lifecycle(bench: Bench): Promise<Section> {
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 4, allow: bench.site.address })
    : null;
  const subjects = [rawSubject(bench), rawWarmSubject(bench), ...(berth ? [berthSubject(bench, berth)] : [])];
  const rows: Section['rows'][number][] = [];
  const checks: Check[] = [];
  for (const atOnce of [1, 4]) {
    const outcomes = await interleave(bench, subjects, { runs: bench.runs ?? runsDefault, atOnce });
    rows.push(...outcomeRows(outcomes, atOnce));
    checks.push(...checksOf(outcomes, atOnce));
    // Idle browsers of the raw pool would affect the next measurement.
    for (const subject of subjects) await subject.end();
  }
  await berth?.stop();
  return { name: 'lifecycle: create, connect, goto, release with a warm machine', columns: outcomeColumns, rows, checks, notes: [] };
}
