import { Content, ContentError } from '@berth/reading';
import { silentLog } from '@berth/lib/log.ts';
import type { Bench } from '../../context.ts';
import { type Section, spread, summarize } from '../../figures.ts';

const runsDefault = 30;
const hostilePages = 40;
/** Maximum conversions at once, as in the service. */
const threadsMax = 3;

/** The parser searches duplicates one by one: each conversion takes its whole time limit. */
const hostileHtml = `<p ${Array.from({ length: 150_000 }, (_, index) => `a${index}`).join(' ')}>x`;
const ordinaryHtml = `<title>t</title>${'<p>A <a href="/x">link</a> and some text.</p>'.repeat(500)}`;

const toOptions = (html: string) => ({
  html,
  url: 'http://site.test/',
  formats: ['markdown' as const],
  onlyMainContent: false,
  includeSelectors: [],
  excludeSelectors: [],
  extract: null,
});

interface Conversions {
  samples: number[];
  refused: number;
}

async function measure(content: Content, runs: number): Promise<Conversions> {
  const { signal } = new AbortController();
  const samples: number[] = [];
  let refused = 0;
  for (let n = 0; n < runs; n += 1) {
    const startedMs = performance.now();
    try {
      await content.for('own_other').convert(toOptions(ordinaryHtml), { signal });
      samples.push(performance.now() - startedMs);
    } catch (error) {
      if (!(error instanceof ContentError)) throw error;
      refused += 1;
    }
  }
  return { samples, refused };
}

/** Conversions of one owner while another has forty hostile pages waiting. */
export async function conversions(bench: Bench): Promise<Section> {
  const content = new Content({ threadsMax, log: silentLog });
  const runs = bench.runs ?? runsDefault;
  const stop = new AbortController();
  try {
    await measure(content, 3);
    const alone = await measure(content, runs);
    bench.reportProgress('hostile pages');
    const hostile = Array.from({ length: hostilePages }, () =>
      content
        .for('own_hostile')
        .convert(toOptions(hostileHtml), { signal: stop.signal })
        .catch(() => undefined),
    );
    const beside = await measure(content, runs);
    stop.abort();
    await Promise.all(hostile);
    return {
      name: 'fetch/conversions: pages of one owner beside hostile ones of another',
      columns: ['p50 / p95 / p99', 'n', 'convert ms', 'refused'],
      rows: [
        ['alone', alone.samples.length, spread(alone.samples), alone.refused],
        [`beside ${hostilePages} hostile pages`, beside.samples.length, spread(beside.samples), beside.refused],
      ],
      checks: [
        { what: 'refused beside hostile pages', measured: beside.refused, target: 0, rule: 'at most', unit: '' },
        { what: 'p99 beside hostile pages', measured: summarize(beside.samples).p99, target: 2000, rule: 'at most', unit: 'ms' },
      ],
      notes: ['each hostile page takes a thread until its time limit'],
    };
  } finally {
    stop.abort();
    await content.close();
  }
}
