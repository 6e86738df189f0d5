/** How often content that comes after the load is there, beside a script that reads at the load or waits for network idle. */
import type { Bench } from '../context.ts';
import type { Corpus, CorpusPage } from './corpus.ts';
import { type Line, lineRow, newLine } from './fetch-rounds.ts';
import type { FetchOptions, Fetcher } from './fetchers.ts';
import { type Section, summarize } from '../figures.ts';

/** Each page once in a round. */
async function runRound({ fetch }: Fetcher, pages: readonly CorpusPage[], options: FetchOptions, line: Line): Promise<void> {
  for (const { name, url, contains } of pages) {
    const started = performance.now();
    const { error, content } = await fetch(url, options);
    const ms = performance.now() - started;
    line.wallMs += ms;
    if (error === null && content.includes(contains)) line.ms.push(ms);
    else line.failures.push(`${name}: ${error ?? 'its content is missing'}`);
  }
}

const percentOf = ({ ms, failures }: Line): number => (100 * ms.length) / (ms.length + failures.length);
const failedNames = ({ failures }: Line): string => [...new Set(failures.map((failure) => failure.split(':', 1)[0]))].join(', ');

/** `fetchers.berth` is null when only the baseline is measured. */
export async function lateContent(
  bench: Bench,
  corpus: Corpus,
  fetchers: { raw: Fetcher; berth: Fetcher | null },
  rounds: number,
): Promise<Pick<Section, 'rows' | 'checks' | 'notes'>> {
  const whole = { whole: true, settled: false };
  const atLoad = newLine('raw-warm, late content, at the load', 1);
  const atIdle = newLine('raw-warm, late content, at network idle', 1);
  const ours = newLine('berth, late content, by browser', 1);
  for (let round = 0; round < rounds; round += 1) {
    bench.reportProgress(`late content, round ${round + 1} of ${rounds}`);
    await runRound(fetchers.raw, corpus.latePages, whole, atLoad);
    await runRound(fetchers.raw, corpus.latePages, { ...whole, settled: true }, atIdle);
    if (fetchers.berth) await runRound(fetchers.berth, corpus.latePages, whole, ours);
  }
  const lines = [atLoad, atIdle, ...(fetchers.berth ? [ours] : [])];
  const notes = lines.filter(({ failures }) => failures.length > 0).map((line) => `${line.name}: missing for ${failedNames(line)}`);
  if (!fetchers.berth) return { rows: lines.map((line) => lineRow(line)), checks: [], notes };
  const p50 = summarize(ours.ms).p50 / summarize(atIdle.ms).p50;
  return {
    rows: lines.map((line) => lineRow(line, atIdle)),
    checks: [
      { what: 'late content: is there', measured: percentOf(ours), target: 100, rule: 'at least', unit: '%' },
      { what: 'late content: p50 of the script that waits for network idle', measured: p50, target: 0.7, rule: 'at most', unit: '×' },
    ],
    notes,
  };
}
