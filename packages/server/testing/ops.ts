/** A strict parser of the Prometheus text format (version 0.0.4). */
import assert from 'node:assert/strict';

export interface Metric {
  help: string;
  type: string;
  /** Values by name and labels as written. */
  samples: Map<string, number>;
}

const name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const sampleLine = new RegExp(`^((${name})(?:\\{(${label}(?:,${label})*)\\})?) (N[aA][nN]|[+-]Inf|-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)$`);
const helpLine = new RegExp(`^# HELP (${name}) ((?:[^\\\\]|\\\\[\\\\n])+)$`);
const typeLine = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram|summary|untyped)$`);
const suffixes: Record<string, readonly string[]> = { histogram: ['_bucket', '_sum', '_count'], summary: ['', '_sum', '_count'] };

const valueOf = (text: string): number => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

/** @throws AssertionError unless help and type come first, each series is unique and samples follow their metric */
export function readMetrics(text: string): Map<string, Metric> {
  assert.ok(text.endsWith('\n'), 'the last line has an end');
  const metrics = new Map<string, Metric>();
  let current: [name: string, metric: Metric] | null = null;
  for (const line of text.split('\n').filter((each) => each !== '')) {
    if (line.startsWith('# HELP')) current = begin(metrics, line);
    else if (line.startsWith('# TYPE')) setType(current, line);
    else addSample(current, line);
  }
  for (const [each, { type, samples }] of metrics) if (type === 'histogram') checkHistogram(each, samples);
  return metrics;
}

function begin(metrics: Map<string, Metric>, line: string): [string, Metric] {
  const [, sampleName = '', help = ''] = helpLine.exec(line) ?? assert.fail(`no help: ${line}`);
  assert.ok(!metrics.has(sampleName), `${sampleName} is declared twice`);
  const metric: Metric = { help, type: '', samples: new Map() };
  metrics.set(sampleName, metric);
  return [sampleName, metric];
}

function setType(current: [string, Metric] | null, line: string): void {
  const [, sampleName, type = ''] = typeLine.exec(line) ?? assert.fail(`no type: ${line}`);
  assert.ok(current && current[0] === sampleName && current[1].type === '' && current[1].samples.size === 0, `out of place: ${line}`);
  current[1].type = type;
}

function addSample(current: [string, Metric] | null, line: string): void {
  const [, series = '', sampleName = '', labels = '', value = ''] = sampleLine.exec(line) ?? assert.fail(`no sample: ${line}`);
  assert.ok(current && current[1].type !== '', `before its metric: ${line}`);
  const [metricName, { type, samples }] = current;
  assert.ok(
    (suffixes[type] ?? ['']).some((suffix) => sampleName === metricName + suffix),
    `not of ${metricName}: ${line}`,
  );
  const names = [...labels.matchAll(/(\w+)="/g)].map(([, each]) => each);
  assert.equal(new Set(names).size, names.length, `a label twice: ${line}`);
  assert.ok(!samples.has(series), `a series twice: ${line}`);
  if (type === 'counter') assert.ok(sampleName.endsWith('_total') && valueOf(value) >= 0, `no counter: ${line}`);
  samples.set(series, valueOf(value));
}

/** Bucket counts increase, and the last one equals the count. */
function checkHistogram(metricName: string, samples: ReadonlyMap<string, number>): void {
  const byLabels = new Map<string, number[]>();
  for (const [series, value] of samples) {
    if (!series.startsWith(`${metricName}_bucket{`)) continue;
    const labels = series.slice(metricName.length + '_bucket'.length).replace(/le="[^"]*",?/, '');
    byLabels.set(labels, [...(byLabels.get(labels) ?? []), value]);
    if (series.includes('le="+Inf"'))
      assert.equal(samples.get(`${metricName}_count${labels === '{}' ? '' : labels.replace(',}', '}')}`), value, series);
  }
  for (const values of byLabels.values())
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
      metricName,
    );
}
