export interface Summary {
  n: number;
  p50: number;
  p95: number;
  p99: number;
}

/** Percentiles by the nearest rank; NaN of nothing. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** The least-squares slope of values taken at equal steps, for each step. */
export function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const above = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0);
  const below = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

/** One figure beside its target. */
export interface Check {
  what: string;
  measured: number;
  target: number;
  /** Whether the figure must stay under its target or reach it. */
  rule: 'at most' | 'at least';
  unit: 'ms' | 's' | '×' | 'MB' | '%' | '';
}

/** A figure that could not be measured is a miss. */
export const passes = ({ measured, target, rule }: Check): boolean => (rule === 'at most' ? measured <= target : measured >= target);

export interface Section {
  name: string;
  columns: readonly string[];
  rows: readonly (string | number)[][];
  checks: readonly Check[];
  notes: readonly string[];
}

const format = (value: string | number): string => {
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 100) return String(Math.round(value));
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1);
};

/** `p50 / p95 / p99` of one column of samples. */
export function spread(samples: readonly number[]): string {
  const { p50, p95, p99 } = summarize(samples);
  return [p50, p95, p99].map(format).join(' / ');
}

function printTable(columns: readonly string[], rows: readonly (string | number)[][]): void {
  const lines = [[...columns], ...rows.map((row) => row.map(format))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  for (const line of lines)
    console.log(`  ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}`.trimEnd());
}

export function printSection({ name, columns, rows, checks, notes }: Section): void {
  console.log(`\n${name}`);
  printTable(columns, rows);
  for (const note of notes) console.log(`  note: ${note}`);
  if (checks.length === 0) return;
  console.log('');
  printTable(
    ['', 'measured', 'target', ''],
    checks.map((check) => [
      check.what,
      `${format(check.measured)} ${check.unit}`.trim(),
      `${check.rule === 'at most' ? '≤' : '≥'} ${format(check.target)} ${check.unit}`.trim(),
      passes(check) ? 'PASS' : 'MISS',
    ]),
  );
}
