/** Queries of the chart's autoscaler, answered by Prometheus, and what Kubernetes makes of the answers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { promtool } from '../services/promtool.ts';
import { renderChart } from './charts.ts';

const chart = join(import.meta.dirname, '../../deploy/helm/berth');

describe('the autoscaler of the chart', () => {
  interface Trigger {
    name: string;
    metadata: { query: string; threshold: string };
  }
  const folder = mkdtempSync(join(tmpdir(), 'berth-autoscaling-'));
  after(() => rmSync(folder, { recursive: true }));
  let triggers: Trigger[];
  before(async () => {
    const manifests = await renderChart(chart, { autoscaling: { mode: 'keda' } });
    triggers = (manifests.find(({ kind }) => kind === 'ScaledObject')?.spec['triggers'] as Trigger[] | undefined) ?? [];
    writeFileSync(
      join(folder, 'rules.yaml'),
      stringify({ groups: [{ name: 'scale', rules: triggers.map(({ name, metadata }) => ({ record: name, expr: metadata.query })) }] }),
    );
  });

  /** @throws AssertionError unless Prometheus answers the queries so for workers with these figures */
  const assertAnswers = (workers: { sessions: number; waiting: number; admitting: 0 | 1 }[], answers: Record<string, number>): void => {
    const series = workers.flatMap(({ sessions, waiting, admitting }, at) => {
      const labels = `namespace="browsers",pod="release-berth-${at}"`;
      return [
        { series: `berth_sessions{${labels},status="ready"}`, values: String(sessions) },
        { series: `berth_sessions{${labels},status="ended"}`, values: '1000' },
        { series: `berth_machine_boots_waiting{${labels}}`, values: String(waiting) },
        { series: `berth_admitting{${labels}}`, values: String(admitting) },
      ];
    });
    const elsewhere = { series: 'berth_admitting{namespace="other",pod="release-berth-0"}', values: '0' };
    const promqlTests = Object.entries(answers).map(([name, value]) => ({
      expr: `${name} + 0`,
      eval_time: '0m',
      exp_samples: [{ labels: '{}', value }],
    }));
    const file = join(folder, 'rules.test.yaml');
    const tests = [{ interval: '1m', input_series: [...series, elsewhere], promql_expr_test: promqlTests }];
    writeFileSync(file, stringify({ rule_files: ['rules.yaml'], tests }));
    promtool(['test', 'rules', file]);
  };

  /** Workers that Kubernetes wants: a tenth more or less than there are is ignored, and the largest of all results counts. */
  const wanted = (workers: number, answers: Record<string, number>): number =>
    Math.max(
      ...triggers.map(({ name, metadata }) => {
        const share = (answers[name] ?? assert.fail(name)) / Number(metadata.threshold);
        return Math.abs(share / workers - 1) <= 0.1 ? workers : Math.ceil(share);
      }),
    );

  const calm = { sessions: 4, waiting: 0, admitting: 1 } as const;
  const pressed = { sessions: 15, waiting: 0, admitting: 0 } as const;

  it('the autoscaler of the chart wants as many workers as the sessions need while there is room', () => {
    const answers = { sessions: 24, waiting: 0, pressure: 0 };
    assertAnswers(
      Array.from({ length: 6 }, () => calm),
      answers,
    );
    assert.equal(wanted(6, answers), 2);
  });

  for (const [count, more] of [
    [1, 2],
    [3, 4],
    [10, 12],
    [40, 48],
  ] as const)
    it(`the autoscaler of the chart wants ${more} workers where ${count} have no room`, () => {
      const answers = { sessions: 15 * count, waiting: 0, pressure: more };
      assertAnswers(
        Array.from({ length: count }, () => pressed),
        answers,
      );
      assert.equal(wanted(count, answers), more);
    });

  it('the autoscaler of the chart wants no more while half of the workers have room', () => {
    assertAnswers([pressed, calm], { sessions: 19, waiting: 0, pressure: 0 });
  });

  it('the autoscaler of the chart scales nothing away where Prometheus knows nothing', () => {
    for (const { metadata } of triggers) assert.equal((metadata as Record<string, string>)['ignoreNullValues'], 'false');
  });
});
