/** Blocks over time, from counts by group and interval. */
import type { IntervalCount } from './store.ts';

const hour = 3600;
const hourlyHoursMax = 48;
const sixHourlyHoursMax = 240;

/** What fits a chart: at most 48 intervals. */
export const intervalSecondsFor = (hours: number): number =>
  hours <= hourlyHoursMax ? hour : hours <= sixHourlyHoursMax ? 6 * hour : 24 * hour;

export interface BlockCounts {
  blocks: number;
  resolved: number;
  /** Blocks of each interval. */
  counts: number[];
}

export interface BlockHistory {
  since: Date;
  until: Date;
  intervalSeconds: number;
  total: BlockCounts;
  /** Most blocks first. */
  series: (BlockCounts & { name: string })[];
  other: BlockCounts;
}

export interface Intervals {
  /** Number of the first interval since the epoch. */
  first: number;
  count: number;
  intervalSeconds: number;
}

/** The current interval and as many before it as cover the hours. */
export function intervalsOf(hours: number, now: Date): Intervals {
  const intervalSeconds = intervalSecondsFor(hours);
  const count = Math.ceil((hours * hour) / intervalSeconds);
  return { first: Math.floor(now.getTime() / 1000 / intervalSeconds) - count + 1, count, intervalSeconds };
}

export const startOf = ({ first, intervalSeconds }: Intervals): Date => new Date(first * intervalSeconds * 1000);

export function toBlockHistory(rows: readonly IntervalCount[], intervals: Intervals, until: Date): BlockHistory {
  const groups = Map.groupBy(rows, ({ name }) => name);
  const named = [...groups].flatMap(([name, group]) => (name === null ? [] : [{ name, ...add(group, intervals) }]));
  return {
    since: startOf(intervals),
    until,
    intervalSeconds: intervals.intervalSeconds,
    total: add(rows, intervals),
    series: named.toSorted((a, b) => b.blocks - a.blocks || (a.name < b.name ? -1 : 1)),
    other: add(groups.get(null) ?? [], intervals),
  };
}

/** An event that is dated after `until` counts to the last interval: clocks of workers differ. */
function add(rows: readonly IntervalCount[], { first, count }: Intervals): BlockCounts {
  const sum: BlockCounts = { blocks: 0, resolved: 0, counts: Array<number>(count).fill(0) };
  for (const { interval, blocks, resolved } of rows) {
    const at = Math.min(Math.max(interval - first, 0), count - 1);
    sum.blocks += blocks;
    sum.resolved += resolved;
    sum.counts[at] = (sum.counts[at] ?? 0) + blocks;
  }
  return sum;
}
