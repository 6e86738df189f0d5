import { boundedList, boundedString, isRetryableFailure } from '@berth/contract';
import { z } from 'zod';
import { nextTurn, TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import { NavigationError, PageError } from '@berth/devtools';
import { isUnsafeLink } from '@berth/reading';
import type { CrawledDocument } from '@berth/page-scripts/read/site/documents.ts';
import { FlowError } from '../failure.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';
import { isFileType, isFileUrl } from '../read/media-type.ts';
import { pageIdentity, withoutFragment } from '../read/page-identity.ts';
import { convertPage } from '../read/structured-data.ts';

const queueMax = 5000;
/** Maximum time to open one page: as long as a step of its own may take. */
const openMsMax = 30_000;
/** Maximum links that are read from one page. */
const linksMax = 5000;
/** Maximum files that are listed. */
const filesMax = 1000;
/** Maximum steps for one page: robots.txt of two origins, the page, its content, and one to spare. */
const stepsPerPage = 5;

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
  same_host: z
    .boolean()
    .default(true)
    .describe('Whether to stay on the host of `url`, or on the one that it redirects to. Default: `true`.'),
  respect_robots: z
    .boolean()
    .default(true)
    .describe(
      'Whether to leave out what the robots.txt of each host disallows (RFC 9309). One that answers 429 or 5xx disallows all. Default: `true`.',
    ),
  delay_ms: z.int().min(0).max(10_000).default(0).describe('Milliseconds between two pages, 0 to 10000. Default: 0.'),
  markdown: z.boolean().default(true).describe('Whether to return the main content of each page as Markdown. Default: `true`.'),
});

const output = z.object({
  pages: z
    .array(
      z.object({
        url: z.string().describe('URL of the page, after redirects.'),
        title: z.string().describe('Title of the page.'),
        depth: z.int().describe('Links away from the first page.'),
        links: z.int().describe('Number of its links, those of menus included.'),
        markdown: z.string().nullable().describe('Main content; null unless requested.'),
        error: z.string().nullable().describe('Why the page could not be read; null otherwise.'),
      }),
    )
    .describe('Pages, in the order in which they were read.'),
  disallowed: z.int().describe('Number of URLs that were left out because robots.txt disallows them.'),
  skipped: z.int().describe('Number of links that were left alone because they sign out, delete or change something, such as `/logout`.'),
  files: z.array(z.string()).describe('Links to files, such as PDFs and archives, which are no pages and are not read; at most 1000.'),
  duplicates: z
    .int()
    .describe('Number of URLs that were read and turned out to be a page that is listed already, by a redirect or `rel=canonical`.'),
  stop_reason: z.enum(['done', 'max_pages', 'budget']).describe('Why it ended.'),
});

export const crawl = defineFlow({
  name: 'crawl',
  title: 'Crawl a site',
  description:
    'Follows the links of a site, those of its menus included, breadth first, and returns its pages as Markdown, each once. Respects robots.txt, and leaves links alone that sign out, delete or change something.',
  version: '3',
  category: 'crawling',
  inputs,
  output,
  example: { url: 'https://example.com/', depth: 1, max_pages: 5 },
  run: (run, request) => new Crawl(run, request).run(),
});

type CrawledPage = z.infer<typeof output>['pages'][number];
interface Queued {
  url: string;
  depth: number;
}

class Crawl {
  readonly #run: FlowRun;
  readonly #request: z.infer<typeof inputs>;
  readonly #queue: Queued[] = [];
  /** Identities of URLs that were queued, read or left alone. */
  readonly #seen = new Set<string>();
  /** Titles of the listed pages, by the identity that each states. */
  readonly #titles = new Map<string, string>();
  readonly #files = new Set<string>();
  /** Origins whose robots.txt was asked for. */
  readonly #origins = new Set<string>();
  readonly #pages: CrawledPage[] = [];
  #disallowed = 0;
  #skipped = 0;
  #duplicates = 0;
  /** Host of the first page, after its redirects; null before that. */
  #host: string | null = null;

  constructor(run: FlowRun, request: z.infer<typeof inputs>) {
    this.#run = run;
    this.#request = request;
  }

  async run(): Promise<z.infer<typeof output>> {
    const { url, max_pages: max, delay_ms: delayMs } = this.#request;
    this.#add({ url: withoutFragment(url), depth: 0 });
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      if (this.#pages.length >= max) return this.#result('max_pages');
      if (this.#run.isNearEnd(stepsPerPage)) return this.#result('budget');
      if (!(await this.#isAllowed(next.url))) continue;
      if (this.#pages.length > 0 && delayMs > 0) await this.#run.sleep(delayMs);
      if (!(await this.#visit(next))) return this.#result('budget');
    }
    return this.#result('done');
  }

  #result(reason: z.infer<typeof output>['stop_reason']): z.infer<typeof output> {
    return {
      pages: this.#pages,
      disallowed: this.#disallowed,
      skipped: this.#skipped,
      files: [...this.#files],
      duplicates: this.#duplicates,
      stop_reason: reason,
    };
  }

  #add(next: Queued): void {
    this.#seen.add(pageIdentity(next.url));
    this.#queue.push(next);
  }

  /** The first page decides on which host the crawl stays, because it may redirect to another one. False when the output is full. */
  async #visit(next: Queued): Promise<boolean> {
    const { depth: depthMax, same_host: sameHost } = this.#request;
    const { page, links, canonical, isFile, failure } = await readPage(this.#run, next, this.#request.markdown);
    if (isFile) {
      this.#addFile(page.url);
      return true;
    }
    if (page.error !== null) {
      const { retryable, details } = failure?.error ?? { retryable: true };
      if (this.#host === null) throw new FlowError('navigation_failed', page.error, { retryable, ...(details ? { details } : {}) });
      this.#pages.push(page);
      return true;
    }
    const { host } = new URL(page.url);
    if (pageIdentity(page.url) !== pageIdentity(next.url) && !(await this.#isWantedTarget(page.url, host))) return true;
    this.#host ??= host;
    if (this.#isListed(page, canonical)) return true;
    if (!this.#run.collect(page.title.length + (page.markdown?.length ?? 0))) return false;
    this.#pages.push(page);
    if (next.depth < depthMax) await this.#addLinks(links, { ...this.#request, host: sameHost ? this.#host : null }, next.depth + 1);
    return true;
  }

  async #addLinks(links: readonly string[], scope: Scope, depth: number): Promise<void> {
    const turn = new TurnBudget();
    for (const url of links.map(withoutFragment)) {
      if (turn.isSpent()) await nextTurn();
      const identity = pageIdentity(url);
      if (this.#seen.has(identity) || this.#queue.length >= queueMax || !isWanted(url, scope)) continue;
      this.#seen.add(identity);
      if (isUnsafeLink(url)) this.#skipped += 1;
      else if (isFileUrl(new URL(url))) this.#addFile(url);
      else this.#queue.push({ url, depth });
    }
  }

  #addFile(url: string): void {
    if (this.#files.size < filesMax) this.#files.add(url);
    else this.#run.warn('limit_reached');
  }

  /** Whether the page states the identity of one that is listed. Sites state a wrong one for many pages: then their titles differ. */
  #isListed(page: CrawledPage, canonical: string | null): boolean {
    const stated = canonical !== null && URL.parse(canonical)?.host === new URL(page.url).host ? canonical : page.url;
    const identity = pageIdentity(stated);
    if (this.#titles.get(identity) === page.title) {
      this.#duplicates += 1;
      return true;
    }
    this.#titles.set(identity, page.title);
    return false;
  }

  /** Whether what a page redirected to is another page of the crawl. */
  async #isWantedTarget(url: string, host: string): Promise<boolean> {
    const isFirst = this.#host === null;
    if (!isFirst && this.#request.same_host && host !== this.#host) return false;
    const identity = pageIdentity(url);
    if (!isFirst && this.#seen.has(identity)) {
      this.#duplicates += 1;
      return false;
    }
    this.#seen.add(identity);
    return this.#isAllowed(url);
  }

  /** @throws FlowError where the first page is disallowed */
  async #isAllowed(url: string): Promise<boolean> {
    if (!this.#request.respect_robots) return true;
    const { origin } = new URL(url);
    const ask = (): Promise<string | null> => this.#run.robotsRefusal(url);
    const refusal = this.#origins.has(origin) ? await ask() : await this.#run.act('read_robots', ask);
    this.#origins.add(origin);
    if (refusal === null) return true;
    if (this.#host === null)
      throw new FlowError(
        'not_allowed',
        `The site does not allow crawlers at url: ${refusal}. Ask its owner, or set respect_robots to false.`,
      );
    this.#disallowed += 1;
    return false;
  }
}

interface PageRead {
  page: CrawledPage;
  links: string[];
  canonical: string | null;
  isFile: boolean;
  /** The reason why the page could not be opened. */
  failure?: FlowError;
}

async function readPage(run: FlowRun, { url, depth }: Queued, markdown: boolean): Promise<PageRead> {
  const withoutContent = { url, depth, title: '', links: 0, markdown: null, error: null };
  try {
    if (!(await openPage(run, url))) return { page: withoutContent, links: [], canonical: null, isFile: true };
    const { contentType, links, canonical } = await run.call<CrawledDocument>(flowScripts.readLinks, [linksMax]);
    const finalUrl = withoutFragment(run.url());
    if (isFileType(contentType)) return { page: { ...withoutContent, url: finalUrl }, links: [], canonical: null, isFile: true };
    const content = await convertPage(run, ['markdown'], { onlyMainContent: true });
    const text = markdown ? (content.markdown ?? '') : null;
    const page = { ...withoutContent, url: finalUrl, title: content.title, links: links.length, markdown: text };
    return { page, links, canonical, isFile: false };
  } catch (error) {
    if (!(error instanceof FlowError || error instanceof PageError)) throw error;
    const failure = error instanceof FlowError ? { failure: error } : {};
    return { page: { ...withoutContent, error: error.message }, links: [], canonical: null, isFile: false, ...failure };
  }
}

/** Opens a page. Returns false for a file, which the browser downloads. @throws FlowError */
function openPage(run: FlowRun, url: string): Promise<boolean> {
  return run.act('navigate', async () => {
    try {
      await run.navigate({ url, waitUntil: 'domcontentloaded', timeoutMs: Math.max(1, Math.min(openMsMax, run.leftMs)) });
      return true;
    } catch (error) {
      if (!(error instanceof NavigationError)) throw error;
      if (error.reason === 'download') return false;
      const { reason, netError } = error;
      throw new FlowError(reason === 'timeout' ? 'timeout' : 'navigation_failed', error.message, {
        retryable: isRetryableFailure(reason, netError),
        details: { reason, net_error: netError },
      });
    }
  });
}

/** `host`: null for any. */
type Scope = Pick<z.infer<typeof inputs>, 'include' | 'exclude'> & { host: string | null };

export function isWanted(link: string, { host, include, exclude }: Scope): boolean {
  const address = URL.parse(link);
  if (!address || !/^https?:$/.test(address.protocol)) return false;
  if (host !== null && address.host !== host) return false;
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
