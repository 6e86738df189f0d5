/**
 * Main content beside plain Readability and Defuddle, on pages with ground truth
 * (`tests/main-content`). The score is that of public benchmarks of article
 * extraction: precision and recall of four-word shingles for each page, their
 * means, and F1 of these. Rules were made on the tuned half only.
 */
import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';
import { JSDOM } from 'jsdom';
import { Content, type ContentOptions } from '@berth/reading';
import { silentLog } from '@berth/lib/log.ts';
import { contentPages, type ContentPage, type Half } from '../../../tests/main-content/corpus.ts';
import { f1Of, meanScore, scorePage } from '../../../tests/main-content/score.ts';
import type { Bench } from '../../context.ts';
import { spread, summarize, type Section } from '../../figures.ts';

const f1Target = 96.6;
const convertMsTarget = 60;
/** The size of an ordinary news page without its subresources. */
const paddedChars = 150_000;
const warmUps = 20;

interface Extractor {
  name: string;
  /** The text of the main content. */
  extract(page: ContentPage): Promise<string>;
}

const optionsOf = ({ html, url }: Pick<ContentPage, 'html' | 'url'>): Omit<ContentOptions, 'formats'> => ({
  html,
  url,
  onlyMainContent: true,
  includeSelectors: [],
  excludeSelectors: [],
  extract: null,
});

const { signal } = new AbortController();

function extractorsOn(converter: Content): Extractor[] {
  const own = converter.for('own_bench');
  const toText = async (html: string, url: string, onlyMainContent: boolean): Promise<string> => {
    const { text } = await own.convert({ ...optionsOf({ html, url }), formats: ['text'], onlyMainContent }, { signal });
    return text ?? '';
  };
  const inDom = async (page: ContentPage, extract: (document: Document) => Promise<string> | string): Promise<string> => {
    const { window } = new JSDOM(page.html, { url: page.url });
    try {
      return await toText(await extract(window.document), page.url, false);
    } finally {
      window.close();
    }
  };
  return [
    { name: 'berth', extract: ({ html, url }) => toText(html, url, true) },
    { name: 'readability', extract: (page) => inDom(page, (document) => new Readability(document).parse()?.content ?? '') },
    { name: 'defuddle', extract: (page) => inDom(page, async (document) => (await Defuddle(document, page.url)).content) },
  ];
}

interface Extraction {
  page: ContentPage;
  text: string;
}

async function extractAll({ extract }: Extractor): Promise<Extraction[]> {
  const extractions: Extraction[] = [];
  for (const page of contentPages) extractions.push({ page, text: await extract(page) });
  return extractions;
}

const percent = (share: number): number => Math.round(share * 1000) / 10;

function scoreOf(extractions: readonly Extraction[], half: Half) {
  return meanScore(extractions.filter(({ page }) => page.half === half).map(({ page, text }) => scorePage(text, page)));
}

const rowOf = (name: string, extractions: readonly Extraction[]): (string | number)[] => [
  name,
  ...(['tuned', 'unseen'] as const).flatMap((half) => {
    const { precision, recall, f1 } = scoreOf(extractions, half);
    return [percent(precision), percent(recall), percent(f1)].map((value) => value.toFixed(1));
  }),
  `${extractions.filter(({ page, text }) => text.includes(page.heading)).length} of ${extractions.length}`,
];

/** The worst pages first. */
function worstOf(extractions: readonly Extraction[]): string[] {
  return extractions
    .map(({ page, text }) => ({ name: page.name, score: scorePage(text, page) }))
    .toSorted((one, other) => f1Of(one.score) - f1Of(other.score))
    .slice(0, 8)
    .map(({ name, score }) => `${name}: precision ${percent(score.precision)}, recall ${percent(score.recall)}`);
}

/** Adds menus and scripts as heavy pages have them. */
function pad(page: ContentPage): ContentPage {
  const menu = Array.from(
    { length: 400 },
    (_, at) => `<li class="menu-item menu-item-${at}"><a href="/section/${at}">Section ${at}</a></li>`,
  );
  const top = `<nav class="mega"><ul>${menu.join('')}</ul></nav>`;
  const script = `<script>window.__STATE__="${'x'.repeat(Math.max(0, paddedChars - page.html.length - top.length))}"</script>`;
  return { ...page, html: page.html.replace('<body>', `<body>${top}${script}`) };
}

/** Processor time of this process, which does nothing but wait for each conversion. */
async function convertTimes(converter: Content, pages: readonly ContentPage[]): Promise<number[]> {
  const own = converter.for('own_bench');
  const times: number[] = [];
  for (const page of pages) {
    const before = process.cpuUsage();
    await own.convert({ ...optionsOf(page), formats: ['markdown', 'links', 'metadata'] }, { signal });
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return times;
}

export async function content(bench: Bench): Promise<Section> {
  const converter = new Content({ threadsMax: 1, log: silentLog });
  try {
    return await measure(converter, bench);
  } finally {
    await converter.close();
  }
}

async function measure(converter: Content, bench: Bench): Promise<Section> {
  const results: { name: string; extractions: Extraction[] }[] = [];
  for (const extractor of extractorsOn(converter)) {
    bench.reportProgress(extractor.name);
    results.push({ name: extractor.name, extractions: await extractAll(extractor) });
  }
  const own = results[0]?.extractions ?? [];
  const padded = contentPages.map(pad);
  await convertTimes(converter, padded.slice(0, warmUps));
  const times = await convertTimes(converter, padded);
  const headings = own.filter(({ page, text }) => text.includes(page.heading)).length;
  return {
    name: 'content: main content of pages with ground truth, in percent',
    columns: ['', 'tuned P', 'R', 'F1', 'unseen P', 'R', 'F1', 'headings'],
    rows: results.map(({ name, extractions }) => rowOf(name, extractions)),
    checks: [
      { what: 'F1 on unseen pages', measured: percent(scoreOf(own, 'unseen').f1), target: f1Target, rule: 'at least', unit: '%' },
      { what: 'headings kept', measured: percent(headings / own.length), target: 100, rule: 'at least', unit: '%' },
      { what: 'processor time of a conversion, p50', measured: summarize(times).p50, target: convertMsTarget, rule: 'at most', unit: 'ms' },
    ],
    notes: [
      `${contentPages.length} pages; a heading at the beginning of a text does not count in its score`,
      `processor time, p50 / p95 / p99: ${spread(times)} ms, of pages padded to ${paddedChars / 1000} KB`,
      ...worstOf(own),
    ],
  };
}
