import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, summarize } from '../figures.ts';
import { type Outcome, interleave, outcomeColumns, outcomeRows, successPercent, times } from '../interleave.ts';
import { berthSubject, rawSubject } from '../subjects.ts';

const runsDefault = 40;

const untilConnected = ({ timings }: Outcome): number[] => timings.map(({ create, connect }) => create + connect);

function checksOf(outcomes: readonly Outcome[], atOnce: number): Check[] {
  const [raw, berth] = outcomes;
  if (!raw || !berth) return [];
  const success: Check = {
    what: `${atOnce} at once, cold: success`,
    measured: successPercent(berth),
    target: 100,
    rule: 'at least',
    unit: '%',
  };
  const ratio = (of: (outcome: Outcome) => number[]): number => summarize(of(berth)).p50 / summarize(of(raw)).p50;
  if (atOnce === 1) {
    return [
      {
        what: 'create, cold: p50 of a raw launch',
        measured: ratio((one) => times(one, 'create')),
        target: 1.3,
        rule: 'at most',
        unit: '×',
      },
      // Chromium prints its address long before it answers there; a created session has answered.
      {
        what: 'create and connect, cold: p50 of a raw launch and connection',
        measured: ratio(untilConnected),
        target: 1.2,
        rule: 'at most',
        unit: '×',
      },
      success,
    ];
  }
  return [
    {
      what: `${atOnce} from an empty pool: all of them, p50 of raw's`,
      measured: ratio((one) => one.batches),
      target: 1.05,
      rule: 'at most',
      unit: '×',
    },
    success,
  ];
}

/** The lifecycle without a warm machine: one at a time, and four at once from an empty pool. */
export async function cold(bench: Bench): Promise<Section> {
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  const subjects = [rawSubject(bench), ...(berth ? [berthSubject(bench, berth)] : [])];
  const rows: Section['rows'][number][] = [];
  const checks: Check[] = [];
  for (const atOnce of [1, 4]) {
    const outcomes = await interleave(bench, subjects, { runs: bench.runs ?? runsDefault, atOnce });
    rows.push(...outcomeRows(outcomes, atOnce));
    checks.push(...checksOf(outcomes, atOnce));
  }
  await berth?.stop();
  return { name: 'cold: the same with no machine ready', columns: outcomeColumns, rows, checks, notes: [] };
}
