import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Corpus, type CorpusPage, startCorpus } from '../../fetch/corpus.ts';
import { type Line, interleavePages, lineColumns, lineRow, newLine, pagesPerSecond, ratios, runPages } from '../../fetch/fetch-rounds.ts';
import { type Fetcher, berthFetcher, rawFetcher } from '../../fetch/fetchers.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { lateContent } from '../../fetch/late-content.ts';
import { memoryMb } from '../../proc.ts';
import { classifyTruth } from '../../fetch/truth.ts';

/** Runs of each fetcher at each concurrency; the other counts are derived from it. */
const runsDefault = 60;
const countsOf = (runs: number) => ({
  corpus: runs,
  plain: runs * 5,
  markdown: Math.ceil(runs / 2),
  jobs: Math.ceil(runs / 3),
  memory: Math.ceil((runs * 10) / 3),
  lateRounds: Math.ceil(runs / 12),
});
type Counts = ReturnType<typeof countsOf>;

/** Unmeasured fetches, so that modules are loaded and a machine is warm. */
const warmUps = 4;
/** Pages of one kind in a row, when two kinds alternate. */
const blockPages = 5;

/** Shared by all parts of the section. */
interface FetchContext {
  bench: Bench;
  corpus: Corpus;
  counts: Counts;
  raw: Fetcher;
  berth: Berth | null;
}

type SectionPart = Pick<Section, 'rows' | 'checks' | 'notes'>;

const labelOf = (atOnce: number): string => (atOnce === 1 ? 'one at a time' : `${atOnce} at once`);
const times = (page: CorpusPage, count: number): CorpusPage[] => Array.from({ length: count }, () => page);
const failuresOf = (lines: readonly Line[]): string[] =>
  lines
    .filter(({ failures }) => failures.length > 0)
    .map(({ name, failures }) => `${name} failed ${failures.length} times, first: ${failures[0]}`);

/** A page with scripts may wait for frames before it is read; one without is read at once. */
function p50Check(berth: Line, raw: Line, pages: readonly CorpusPage[], scripted: boolean): Check {
  const names = pages.filter((page) => page.scripted === scripted).map(({ name }) => name);
  const p50 = ({ msOf }: Line): number => summarize(names.flatMap((name) => msOf.get(name) ?? [])).p50;
  const what = `by browser, one at a time, ${scripted ? 'scripted' : 'static'} pages: p50 of raw-warm's`;
  return { what, measured: p50(berth) / p50(raw), target: scripted ? 0.7 : 0.5, rule: 'at most', unit: '×' };
}

function checksOf(berth: Line, raw: Line, pages: readonly CorpusPage[]): Check[] {
  const label = labelOf(berth.atOnce);
  const [, rate] = ratios(berth, raw);
  const rateCheck: Check = {
    what: `by browser, ${label}: pages a second of raw-warm's`,
    measured: rate,
    target: 2,
    rule: 'at least',
    unit: '×',
  };
  return [
    ...(berth.atOnce === 1 ? [false, true].map((scripted) => p50Check(berth, raw, pages, scripted)) : [rateCheck]),
    { what: `by browser, ${label}: failed`, measured: berth.failures.length, target: 0, rule: 'at most', unit: '' },
  ];
}

/** The service's own timings. */
function timingsNote({ atOnce, timings }: Line): string {
  const [session, load, total] = (['session_ms', 'load_ms', 'total_ms'] as const).map((key) =>
    spread(timings.map((each) => each[key] ?? 0)),
  );
  return `by the service's own count, ${labelOf(atOnce)}, ms: session ${session}, load ${load}, total ${total}`;
}

/** Times by page. */
function pagesNote(berth: Line, raw: Line): string {
  const p50 = (line: Line, name: string): number => Math.round(summarize(line.msOf.get(name) ?? []).p50);
  const pages = [...berth.msOf.keys()].map((name) => `${name} ${p50(berth, name)} (${p50(raw, name)})`);
  return `p50 by page and raw-warm's, ${labelOf(berth.atOnce)}, ms: ${pages.join(', ')}`;
}

async function corpusPart({ bench, corpus, counts, raw, berth }: FetchContext): Promise<SectionPart> {
  const fetchers = [raw, ...(berth ? [berthFetcher('berth, by browser', berth)] : [])];
  const part: SectionPart = { rows: [], checks: [], notes: [] };
  for (const fetcher of fetchers) await runPages(fetcher, times(corpus.staticPage, warmUps), newLine(fetcher.name, warmUps));
  for (const atOnce of [1, 4]) {
    // Longer rounds reduce the effect of idle lanes at their end.
    const pages = atOnce === 1 ? corpus.pages : [...corpus.pages, ...corpus.pages];
    const lines = await interleavePages(bench, { fetchers, pages }, { runs: counts.corpus, atOnce });
    const [rawLine, berthLine] = lines;
    part.rows = [...part.rows, ...lines.map((line) => lineRow(line, rawLine))];
    part.notes = [...part.notes, ...failuresOf(lines)];
    if (!berthLine || !rawLine) continue;
    part.checks = [...part.checks, ...checksOf(berthLine, rawLine, corpus.pages)];
    part.notes = [...part.notes, timingsNote(berthLine), pagesNote(berthLine, rawLine)];
  }
  return part;
}

/** The static page without a browser. */
async function plainPart({ bench, corpus, counts }: FetchContext, berth: Berth): Promise<SectionPart> {
  const fetcher = berthFetcher('berth, by http, static page', berth, { mode: 'http' });
  await runPages(fetcher, times(corpus.staticPage, counts.jobs), newLine(fetcher.name, 8));
  const lines = [1, 8].map((atOnce) => newLine(fetcher.name, atOnce));
  for (const line of lines) {
    bench.reportProgress(`by http, ${labelOf(line.atOnce)}`);
    await runPages(fetcher, times(corpus.staticPage, counts.plain), line);
  }
  const checks = lines.map((line): Check => ({
    what: `by http, ${labelOf(line.atOnce)}: pages a second`,
    measured: pagesPerSecond(line),
    target: 150,
    rule: 'at least',
    unit: '',
  }));
  return { rows: lines.map((line) => lineRow(line)), checks, notes: failuresOf(lines) };
}

/** Fetches the same page with and without markdown in turn: the difference is the conversion, including its thread. */
async function markdownPart({ bench, corpus, counts }: FetchContext, berth: Berth): Promise<SectionPart> {
  const fetchers = [
    berthFetcher('berth, by http, 100 KB, html', berth, { mode: 'http', formats: ['html'] }),
    berthFetcher('berth, by http, 100 KB, html and markdown', berth, { mode: 'http' }),
  ];
  const pages = times(corpus.longPage, blockPages);
  await interleavePages(bench, { fetchers, pages }, { runs: warmUps, atOnce: 1 });
  const lines = await interleavePages(bench, { fetchers, pages }, { runs: counts.markdown, atOnce: 1 });
  const [without = Number.NaN, converted = Number.NaN] = lines.map(({ ms }) => summarize(ms).p50);
  return {
    rows: lines.map((line) => lineRow(line)),
    checks: [
      { what: 'markdown of 100 KB: p50 with it less p50 without', measured: converted - without, target: 10, rule: 'at most', unit: 'ms' },
    ],
    notes: failuresOf(lines),
  };
}

/** Measures from the request to the finished job: the static page by browser. */
async function jobsPart({ bench, corpus, counts }: FetchContext, berth: Berth): Promise<SectionPart> {
  let polls = 0;
  const fetch: Fetcher['fetch'] = async (url) => {
    const { job_id: jobId } = await berth.fetch({ url, formats: ['html', 'markdown'], async: true });
    if (jobId === null) throw new Error('the fetch is no job');
    let result = await berth.poll(jobId);
    for (polls += 1; result.status === 'pending'; polls += 1) result = await berth.poll(jobId);
    const { status_code: status, final_url: finalUrl, content_type: contentType, error, timings } = result;
    return { status, finalUrl, contentType, content: '', error: error?.code ?? null, timings };
  };
  bench.reportProgress('jobs');
  const line = newLine('berth, job from request to result, static page', 1);
  await runPages({ name: line.name, fetch }, times(corpus.staticPage, counts.jobs), line);
  return {
    rows: [lineRow(line)],
    checks: [],
    notes: [...failuresOf([line]), `a job took ${(polls / counts.jobs).toFixed(2)} polls, each of which waits`],
  };
}

async function memoryPart({ bench, corpus, counts }: FetchContext, berth: Berth, idleMb: number): Promise<SectionPart> {
  bench.reportProgress(`${counts.memory} fetches for the worker's memory`);
  const before = memoryMb([berth.pid]);
  const line = newLine('berth, by browser, static page', 4);
  await runPages(berthFetcher(line.name, berth), times(corpus.staticPage, counts.memory), line);
  const after = memoryMb([berth.pid]);
  const megabytes = [idleMb, before, after].map((each) => Math.round(each));
  return {
    rows: [lineRow(line)],
    checks: [],
    notes: [
      ...failuresOf([line]),
      `worker memory: ${megabytes[0]} MB at the start, ${megabytes[1]} MB before and ${megabytes[2]} MB after ${counts.memory} fetches`,
    ],
  };
}

function latePart({ bench, corpus, counts, raw, berth }: FetchContext): Promise<SectionPart> {
  const fetchers = { raw, berth: berth && berthFetcher('berth', berth) };
  return lateContent(bench, corpus, fetchers, counts.lateRounds);
}

/** Runs last, as the health record of a refusing site would delay measured fetches. */
async function truthPart({ bench, corpus, raw, berth }: FetchContext): Promise<SectionPart> {
  const pages = [...corpus.pages, ...corpus.truthPages];
  const part: SectionPart = { rows: [], checks: [], notes: [] };
  const cases = [
    { fetcher: raw, runsScripts: true },
    ...(berth
      ? [
          { fetcher: berthFetcher('berth, by browser', berth), runsScripts: true },
          { fetcher: berthFetcher('berth, by http', berth, { mode: 'http' }), runsScripts: false },
        ]
      : []),
  ];
  for (const { fetcher, runsScripts } of cases) {
    bench.reportProgress(`truth, ${fetcher.name}`);
    const { percent, untrue } = await classifyTruth(fetcher, pages, { runsScripts });
    part.notes = [
      ...part.notes,
      `${fetcher.name} reports ${Math.round(percent)} % of ${pages.length} pages correctly`,
      ...untrue.map((each) => `${fetcher.name} is wrong about ${each}`),
    ];
    if (fetcher === raw) continue;
    part.checks = [...part.checks, { what: `${fetcher.name}: accuracy`, measured: percent, target: 100, rule: 'at least', unit: '%' }];
  }
  return part;
}

async function partsOf(field: FetchContext): Promise<SectionPart[]> {
  const { berth } = field;
  if (!berth) return [await corpusPart(field), await latePart(field), await truthPart(field)];
  const idleMb = memoryMb([berth.pid]);
  return [
    await corpusPart(field),
    await latePart(field),
    await plainPart(field, berth),
    await markdownPart(field, berth),
    await jobsPart(field, berth),
    await memoryPart(field, berth, idleMb),
    await truthPart(field),
  ];
}

/** Pages to HTML and markdown, compared with a script with a warm browser. `--runs` is the number of pages per concurrency. */
export async function fetches(bench: Bench): Promise<Section> {
  const corpus = await startCorpus();
  bench.stage.onEnd(() => corpus.close());
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: corpus.addresses.join(',') })
    : null;
  const parts = await partsOf({ bench, corpus, berth, raw: await rawFetcher(bench), counts: countsOf(bench.runs ?? runsDefault) });
  await berth?.stop();
  return {
    name: 'fetch: a page to HTML and markdown',
    columns: lineColumns,
    rows: parts.flatMap(({ rows }) => rows),
    checks: parts.flatMap(({ checks }) => checks),
    notes: [
      ...parts.flatMap(({ notes }) => notes),
      'one attempt each; the service, the raw script and this client share the processors; this client serves the pages',
    ],
  };
}
