import type { Bench } from './context.ts';
import { spread, summarize } from './figures.ts';
import { waitForIdleCpu } from './proc.ts';
import type { Subject, Timings } from './subjects.ts';

export interface Outcome {
  name: Subject['name'];
  timings: Timings[];
  failures: string[];
  warm: number;
  /** Milliseconds from the first start to the last end of each batch. */
  batches: number[];
}

async function runBatch(subject: Subject, outcome: Outcome, atOnce: number): Promise<void> {
  const started = performance.now();
  const settled = await Promise.allSettled(Array.from({ length: atOnce }, () => subject.run()));
  outcome.batches.push(performance.now() - started);
  for (const one of settled) {
    if (one.status === 'fulfilled') {
      outcome.timings.push(one.value.timings);
      outcome.warm += Number(one.value.warm);
      await one.value.after();
    } else {
      outcome.failures.push(one.reason instanceof Error ? one.reason.message : String(one.reason));
    }
  }
}

/**
 * Runs the subjects in turn, `runs` times each and `atOnce` together, so that
 * changes of the host's speed affect all alike.
 */
export async function interleave(
  bench: Bench,
  subjects: readonly Subject[],
  options: { runs: number; atOnce: number },
): Promise<Outcome[]> {
  const outcomes = subjects.map(({ name }): Outcome => ({ name, timings: [], failures: [], warm: 0, batches: [] }));
  const rounds = Math.ceil(options.runs / options.atOnce);
  let restless = 0;
  for (let round = 0; round < rounds; round += 1) {
    bench.reportProgress(`${options.atOnce} at once, round ${round + 1} of ${rounds}`);
    for (const [i, subject] of subjects.entries()) {
      await subject.prepare(options.atOnce);
      if (!(await waitForIdleCpu())) restless += 1;
      const outcome = outcomes[i];
      if (outcome) await runBatch(subject, outcome, options.atOnce);
    }
  }
  if (restless > 0) bench.reportProgress(`${restless} runs started on a busy machine`);
  for (const { name, failures } of outcomes)
    if (failures.length > 0) bench.reportProgress(`${name} failed ${failures.length} times, first: ${failures[0] ?? ''}`);
  return outcomes;
}

export const outcomeColumns = [
  'p50 / p95 / p99 ms',
  'at once',
  'n',
  'ok %',
  'warm %',
  'create',
  'connect',
  'goto',
  'release',
  'total',
  '× raw',
];

export const times = (outcome: Outcome, step: keyof Timings): number[] => outcome.timings.map((timing) => timing[step]);

export const successPercent = ({ timings, failures }: Outcome): number => (100 * timings.length) / (timings.length + failures.length);

export function outcomeRows(outcomes: readonly Outcome[], atOnce: number): (string | number)[][] {
  const raw = outcomes.find(({ name }) => name === 'raw');
  const rawTotal = raw ? summarize(times(raw, 'total')).p50 : Number.NaN;
  return outcomes.map((outcome) => [
    outcome.name,
    atOnce,
    outcome.timings.length,
    successPercent(outcome),
    (100 * outcome.warm) / outcome.timings.length,
    ...(['create', 'connect', 'goto', 'release', 'total'] as const).map((step) => spread(times(outcome, step))),
    summarize(times(outcome, 'total')).p50 / rawTotal,
  ]);
}
