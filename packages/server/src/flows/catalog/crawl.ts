import { boundedList, boundedString } from '@berth/contract';
import { z } from 'zod';
import { parseRobots, robotsAgent } from '../../content/content.ts';
import { nextTurn, TurnBudget } from '../../lib/turn-budget.ts';
import type { TextReply } from '../../page-scripts/documents.ts';
import { FlowFailed } from '../failure.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';
import { convertPage } from '../read/structured-data.ts';

const robotsCharsMax = 512 * 1024;
const queueMax = 5000;

/** A part of a URL, or with `*` the whole one. Each star costs a search of each link. */
export const UrlPattern = boundedString(1, 500).regex(/^[^*]*(?:\*[^*]*){0,5}$/, 'A pattern has at most 5 stars');

const inputs = z.strictObject({
  url: Url,
  depth: z.int().min(0).max(3).default(1).describe('How many links away from `url`, 0 to 3. Default: 1.'),
  max_pages: z.int().min(1).max(200).default(20).describe('Maximum number of pages, 1 to 200. Default: 20.'),
  include: boundedList(UrlPattern, 20)
    .default([])
    .describe(
      'Only URLs that contain one of these texts; with `*`, the whole URL, where each `*`, at most 5, matches anything. Default: all.',
    ),
  exclude: boundedList(UrlPattern, 20).default([]).describe('No URLs that match one of these, as in `include`. Default: none.'),
  same_host: z.boolean().default(true).describe('Whether to stay on the host of `url`. Default: `true`.'),
  respect_robots: z.boolean().default(true).describe('Whether to leave out what robots.txt disallows. Default: `true`.'),
  delay_ms: z.int().min(0).max(10_000).default(0).describe('Milliseconds between two pages, 0 to 10000. Default: 0.'),
  markdown: z.boolean().default(true).describe('Whether to return the main content of each page as Markdown. Default: `true`.'),
});

const output = z.object({
  pages: z
    .array(
      z.object({
        url: z.string().describe('URL of the page.'),
        title: z.string().describe('Title of the page.'),
        depth: z.int().describe('Links away from the first page.'),
        links: z.int().describe('Number of its links.'),
        markdown: z.string().nullable().describe('Main content; null unless requested.'),
        error: z.string().nullable().describe('Why the page could not be read; null otherwise.'),
      }),
    )
    .describe('Pages, in the order in which they were read.'),
  disallowed: z.int().describe('Number of URLs that robots.txt disallows.'),
  stop_reason: z.enum(['done', 'max_pages', 'budget']).describe('Why it ended.'),
});

export const crawl = defineFlow({
  name: 'crawl',
  title: 'Crawl a site',
  description: 'Follows the links of a site, breadth first, and returns its pages as Markdown. Respects robots.txt.',
  version: '1',
  category: 'crawling',
  inputs,
  output,
  example: { url: 'https://example.com/', depth: 1, max_pages: 5 },
  run: async (run, request) => {
    const { url, depth: depthMax, max_pages: max, delay_ms: delayMs } = request;
    const queue = [{ url: withoutHash(url), depth: 0 }];
    const seen = new Set([queue[0]?.url]);
    const pages: z.infer<typeof output>['pages'] = [];
    let isAllowed: (address: string) => Promise<boolean> = () => Promise.resolve(true);
    let disallowed = 0;
    const turn = new TurnBudget();
    for (let next = queue.shift(); next; next = queue.shift()) {
      if (pages.length >= max) return { pages, disallowed, stop_reason: 'max_pages' as const };
      if (run.isNearEnd(5)) return { pages, disallowed, stop_reason: 'budget' as const };
      if (pages.length > 0 && delayMs > 0) await run.sleep(delayMs);
      const { page, links } = await readPage(run, next, request.markdown);
      if (pages.length === 0 && page.error !== null) throw new FlowFailed('navigation_failed', page.error, { retryable: true });
      if (pages.length === 0 && request.respect_robots) isAllowed = await readRobots(run, next.url);
      if (!run.collect(page.title.length + (page.markdown?.length ?? 0))) return { pages, disallowed, stop_reason: 'budget' as const };
      pages.push(page);
      if (next.depth >= depthMax) continue;
      for (const link of links.map(withoutHash)) {
        if (turn.isSpent()) await nextTurn();
        if (seen.has(link) || queue.length >= queueMax || !isWanted(link, request)) continue;
        seen.add(link);
        if (await isAllowed(link)) queue.push({ url: link, depth: next.depth + 1 });
        else disallowed += 1;
      }
    }
    return { pages, disallowed, stop_reason: 'done' as const };
  },
});

async function readPage(run: FlowRun, { url, depth }: { url: string; depth: number }, markdown: boolean) {
  const common = { url, depth };
  try {
    await run.open(url, 'domcontentloaded');
    const content = await convertPage(run, ['links', 'markdown'], { onlyMainContent: true });
    const links = (content.links ?? []).map((link) => link.url);
    const page = {
      ...common,
      title: content.title,
      links: links.length,
      markdown: markdown ? (content.markdown ?? '') : null,
      error: null,
    };
    return { page, links };
  } catch (error) {
    if (!(error instanceof FlowFailed)) throw error;
    return { page: { ...common, title: '', links: 0, markdown: null, error: error.message }, links: [] };
  }
}

async function readRobots(run: FlowRun, url: string): Promise<(address: string) => Promise<boolean>> {
  const { origin } = new URL(run.url());
  const { status, text } = await run.act('read_robots', () =>
    run.call<TextReply>(flowScripts.fetchText, [new URL('/robots.txt', url).href, robotsCharsMax, 'GET']),
  );
  if (status !== 200) return () => Promise.resolve(true);
  const rules = await parseRobots(text, robotsAgent);
  return async (address) => !address.startsWith(`${origin}/`) || rules.allows(address);
}

export function isWanted(link: string, { url, include, exclude, same_host: sameHost }: z.infer<typeof inputs>): boolean {
  const address = URL.parse(link);
  if (!address || !/^https?:$/.test(address.protocol)) return false;
  if (sameHost && address.host !== new URL(url).host) return false;
  if (include.length > 0 && !include.some((pattern) => matches(pattern, link))) return false;
  return !exclude.some((pattern) => matches(pattern, link));
}

/** A substring, or with `*` the whole URL. In time linear in the URL for each part. */
export function matches(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return text.includes(pattern);
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}

function withoutHash(url: string): string {
  const address = URL.parse(url);
  if (!address) return url;
  address.hash = '';
  return address.href;
}
