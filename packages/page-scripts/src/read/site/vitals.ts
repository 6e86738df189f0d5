/** Figures of how a page loaded, as web-vitals and Lighthouse define them. Sent as text, beside the scripts that use it. */

/** The entries of one type so far. They are reported in a task of their own. */
export function bufferedEntries(type: string): Promise<PerformanceEntry[]> {
  return new Promise((resolve) => {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) return resolve([]);
    const entries: PerformanceEntry[] = [];
    const observer = new PerformanceObserver((list) => entries.push(...list.getEntries()));
    observer.observe({ type, buffered: true });
    setTimeout(() => {
      entries.push(...observer.takeRecords());
      observer.disconnect();
      resolve(entries);
    }, 50);
  });
}

export interface Shift {
  startTime: number;
  value: number;
  hadRecentInput: boolean;
}

/** Cumulative layout shift: the largest sum of shifts within five seconds, with gaps below one second, without those after input. */
export function largestShift(shifts: readonly Shift[]): number {
  let largest = 0;
  let sum = 0;
  let firstMs = 0;
  let lastMs = 0;
  for (const { startTime, value, hadRecentInput } of shifts) {
    if (hadRecentInput) continue;
    const isSameWindow = sum > 0 && startTime - lastMs < 1000 && startTime - firstMs < 5000;
    if (!isSameWindow) firstMs = startTime;
    sum = isSameWindow ? sum + value : value;
    lastMs = startTime;
    largest = Math.max(largest, sum);
  }
  return Math.round(largest * 10_000) / 10_000;
}

/** Total blocking time in milliseconds: what exceeds 50 ms of each long task, of its part after the first contentful paint. 0 without that paint. */
export function blockingTime(tasks: readonly { startTime: number; duration: number }[], fcpMs: number | null): number {
  if (fcpMs === null) return 0;
  const excess = ({ startTime, duration }: { startTime: number; duration: number }): number =>
    startTime + duration - Math.max(startTime, fcpMs) - 50;
  return Math.round(tasks.reduce((sum, task) => sum + Math.max(0, excess(task)), 0));
}

/** The first contentful paint in milliseconds since the start of the navigation; null where nothing was painted. */
export function firstPaint(): number | null {
  return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null;
}
