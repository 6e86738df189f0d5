import type { Bench } from './context.ts';
import type { CorpusPage } from './corpus.ts';
import type { Answer, Fetcher } from './fetchers.ts';
import { spread, summarize } from './figures.ts';
import { calm } from './proc.ts';

/** How one fetcher did with so many pages at once. */
export interface Line {
  name: string;
  atOnce: number;
  /** Of the pages that were answered truly. */
  ms: number[];
  /** The same by the page's name. */
  msOf: Map<string, number[]>;
  /** What the service says of the same. */
  timings: NonNullable<Answer['timings']>[];
  failures: string[];
  /** From the first start to the last end of each round, together. */
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

/** Takes the pages in their order, as many at once as the line says. */
export async function runPages(fetcher: Fetcher, pages: readonly CorpusPage[], line: Line): Promise<void> {
  const left = pages.values();
  const started = performance.now();
  const lane = async (): Promise<void> => {
    for (const page of left) await fetchOne(fetcher, page, line);
  };
  await Promise.all(Array.from({ length: line.atOnce }, lane));
  line.wallMs += performance.now() - started;
}

const calmMsMax = 2000;

/** Every fetcher in turn with all pages, at least `runs` each. Who comes first meets a machine that has rested, so they take turns at it. */
export async function interleavePages(
  bench: Bench,
  { fetchers, pages }: { fetchers: readonly Fetcher[]; pages: readonly CorpusPage[] },
  { runs, atOnce }: { runs: number; atOnce: number },
): Promise<Line[]> {
  const pairs = fetchers.map((fetcher) => ({ fetcher, line: newLine(fetcher.name, atOnce) }));
  const rounds = Math.ceil(runs / pages.length);
  for (let round = 0; round < rounds; round += 1) {
    bench.say(`${atOnce} at once, round ${round + 1} of ${rounds}`);
    for (const { fetcher, line } of round % 2 === 0 ? pairs : pairs.toReversed()) {
      await calm(calmMsMax);
      await runPages(fetcher, pages, line);
    }
  }
  return pairs.map(({ line }) => line);
}

export const pagesPerSecond = ({ ms, wallMs }: Line): number => (1000 * ms.length) / wallMs;

export const lineColumns = ['p50 / p95 / p99 ms', 'at once', 'n', 'ok %', 'ms', 'pages/s', '× raw p50', '× raw pages/s'];

/** `raw` is who did the same without the service. */
export function lineRow(line: Line, raw?: Line): (string | number)[] {
  const { name, atOnce, ms, failures } = line;
  const tried = ms.length + failures.length;
  return [name, atOnce, tried, (100 * ms.length) / tried, spread(ms), pagesPerSecond(line), ...ratios(line, raw)];
}

/** Of the median, and of pages a second. */
export function ratios(line: Line, raw: Line | undefined): [p50: number, rate: number] {
  if (!raw) return [Number.NaN, Number.NaN];
  return [summarize(line.ms).p50 / summarize(raw.ms).p50, pagesPerSecond(line) / pagesPerSecond(raw)];
}
