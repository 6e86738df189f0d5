import type { Bench } from '../context.ts';
import type { CorpusPage } from './corpus.ts';
import type { FetchResult, Fetcher } from './fetchers.ts';
import { spread, summarize } from '../figures.ts';
import { waitForIdleCpu } from '../proc.ts';

/** Results of one fetcher at one concurrency. */
export interface Line {
  name: string;
  atOnce: number;
  /** Durations of the pages with the expected status. */
  ms: number[];
  /** Durations by page name. */
  msOf: Map<string, number[]>;
  /** Timings as reported by the service. */
  timings: NonNullable<FetchResult['timings']>[];
  failures: string[];
  /** Sum of the rounds, each from the first start to the last end. */
  wallMs: number;
}

export const newLine = (name: string, atOnce: number): Line => ({
  name,
  atOnce,
  ms: [],
  msOf: new Map(),
  timings: [],
  failures: [],
  wallMs: 0,
});

async function fetchOne({ fetch }: Fetcher, page: CorpusPage, line: Line): Promise<void> {
  const started = performance.now();
  try {
    const { status, error, timings } = await fetch(page.url);
    if (error !== null || status !== page.status) throw new Error(error ?? `status ${status}, not ${page.status}`);
    const ms = performance.now() - started;
    line.ms.push(ms);
    line.msOf.set(page.name, [...(line.msOf.get(page.name) ?? []), ms]);
    if (timings) line.timings.push(timings);
  } catch (error) {
    line.failures.push(`${page.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Fetches the pages in order, `atOnce` at a time. */
export async function runPages(fetcher: Fetcher, pages: readonly CorpusPage[], line: Line): Promise<void> {
  const remaining = pages.values();
  const started = performance.now();
  const lane = async (): Promise<void> => {
    for (const page of remaining) await fetchOne(fetcher, page, line);
  };
  await Promise.all(Array.from({ length: line.atOnce }, lane));
  line.wallMs += performance.now() - started;
}

const idleTimeoutMs = 2000;

/** Runs all pages with every fetcher, at least `runs` each. The order alternates, as the first one runs on a rested machine. */
export async function interleavePages(
  bench: Bench,
  { fetchers, pages }: { fetchers: readonly Fetcher[]; pages: readonly CorpusPage[] },
  { runs, atOnce }: { runs: number; atOnce: number },
): Promise<Line[]> {
  const pairs = fetchers.map((fetcher) => ({ fetcher, line: newLine(fetcher.name, atOnce) }));
  const rounds = Math.ceil(runs / pages.length);
  for (let round = 0; round < rounds; round += 1) {
    bench.reportProgress(`${atOnce} at once, round ${round + 1} of ${rounds}`);
    for (const { fetcher, line } of round % 2 === 0 ? pairs : pairs.toReversed()) {
      await waitForIdleCpu(idleTimeoutMs);
      await runPages(fetcher, pages, line);
    }
  }
  return pairs.map(({ line }) => line);
}

export const pagesPerSecond = ({ ms, wallMs }: Line): number => (1000 * ms.length) / wallMs;

export const lineColumns = ['p50 / p95 / p99 ms', 'at once', 'n', 'ok %', 'ms', 'pages/s', '× raw p50', '× raw pages/s'];

/** `raw` is the baseline. */
export function lineRow(line: Line, raw?: Line): (string | number)[] {
  const { name, atOnce, ms, failures } = line;
  const attempts = ms.length + failures.length;
  return [name, atOnce, attempts, (100 * ms.length) / attempts, spread(ms), pagesPerSecond(line), ...ratios(line, raw)];
}

/** Ratios to `raw` of the median, and of pages a second. */
export function ratios(line: Line, raw: Line | undefined): [p50: number, rate: number] {
  if (!raw) return [Number.NaN, Number.NaN];
  return [summarize(line.ms).p50 / summarize(raw.ms).p50, pagesPerSecond(line) / pagesPerSecond(raw)];
}
