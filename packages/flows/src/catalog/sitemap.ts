import { z } from 'zod';
import type { TextReply } from '@berth/page-scripts/read/site/documents.ts';
import type { SitemapEntry, SitemapReply } from '@berth/page-scripts/read/site/sitemaps.ts';
import { readRobotsLines } from '@berth/reading';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';

/** Maximum characters of robots.txt: RFC 9309 asks for 500 KiB at least. */
const robotsCharsMax = 1024 * 1024;
/** The protocol allows 50 MB; the document of 16 MB takes a renderer some 200 MB and a second. */
const sitemapBytesMax = 16 * 1024 * 1024;
/** Maximum characters from a page script, whose result may have 8 MB. */
const charsMax = 6_000_000;
const filesMax = 20;
/** Requests for sitemaps, also those that fail. */
const requestsMax = 40;
const usualNames = ['sitemap.xml', 'sitemap_index.xml', 'sitemap.xml.gz', 'sitemap.txt'];
/** The path of an address that is a sitemap itself. */
const sitemapPath = /sitemap|\.(?:xml|txt|rss|atom|gz)$/i;

const inputs = z.strictObject({
  url: Url.describe('URL of any page of the site, or of a sitemap, `http` or `https`, at most 8192 characters.'),
  max_urls: z.int().min(1).max(50_000).default(5000).describe('Maximum number of URLs, 1 to 50000. Default: 5000.'),
});

const Unread = z.object({
  url: z.string().describe('URL of the sitemap.'),
  reason: z
    .enum(['http_error', 'unreachable', 'not_a_sitemap', 'another_origin'])
    .describe('Why: its status, no response to the page, a response that is no sitemap, or an origin that the page may not read.'),
  status_code: z.int().nullable().describe('Its HTTP status; null if there was no response.'),
});

const output = z.object({
  urls: z
    .array(
      z.object({
        url: z.string().describe('URL of a page.'),
        lastmod: z.string().nullable().describe('Last change as the sitemap states it; null if not stated.'),
      }),
    )
    .describe('URLs of all sitemaps, each once.'),
  sitemaps: z.array(z.string()).describe('Sitemaps that were read, at most 20.'),
  unread: z.array(Unread).describe('Sitemaps that could not be read, at most 40. `warnings` then has `sitemap_unread`.'),
  truncated: z
    .boolean()
    .describe(
      'Whether there are or may be more URLs. Sitemaps of another origin cannot be read: `warnings` then has `sitemap_of_another_origin`.',
    ),
});

export const sitemap = defineFlow({
  name: 'sitemap',
  title: 'Read a sitemap',
  description:
    'Finds the sitemaps of a site by robots.txt, else at the usual addresses, and returns their URLs. Reads XML, feeds and lists, compressed or not, and reports what it cannot read.',
  version: '2',
  category: 'crawling',
  inputs,
  output,
  example: { url: 'https://example.com/' },
  run: async (run, { url, max_urls: max }) => {
    await run.open(new URL('/', url).href, 'domcontentloaded');
    const read = new SitemapRead(run, max);
    if (sitemapPath.test(new URL(url).pathname)) await read.walk([url]);
    if (!read.hasSitemap) await read.walk(await namesInRobots(run, read.origin));
    for (const name of usualNames) if (!read.hasSitemap) await read.walk([`${read.origin}/${name}`], { isGuess: true });
    return read.result();
  },
});

async function namesInRobots(run: FlowRun, origin: string): Promise<string[]> {
  const robotsUrl = `${origin}/robots.txt`;
  const { status, text } = await run.act('read_file', () => run.call<TextReply>(flowScripts.fetchText, [robotsUrl, robotsCharsMax, 'GET']));
  // The pages of sites without the file may have such lines, too.
  if (status !== 200) return [];
  const names: string[] = [];
  readRobotsLines(text, (key, value) => {
    const [address = ''] = value.split(/\s/, 1);
    const url = key === 'sitemap' && address !== '' ? URL.parse(address, robotsUrl) : null;
    if (url) names.push(url.href);
  });
  return names;
}

class SitemapRead {
  readonly #run: FlowRun;
  readonly #max: number;
  readonly #origin: string;
  readonly #urls = new Map<string, SitemapEntry>();
  readonly #sitemaps: string[] = [];
  readonly #unread: z.infer<typeof Unread>[] = [];
  /** Addresses that were requested, wait or were reported. */
  readonly #seen = new Set<string>();
  #requests = 0;
  #isPartial = false;

  constructor(run: FlowRun, max: number) {
    this.#run = run;
    this.#max = max;
    this.#origin = new URL(run.url()).origin;
  }

  get origin(): string {
    return this.#origin;
  }

  get hasSitemap(): boolean {
    return this.#sitemaps.length > 0;
  }

  /** Reads these sitemaps and those that they name. A guessed one may be missing without a report. */
  async walk(addresses: readonly string[], { isGuess = false }: { isGuess?: boolean } = {}): Promise<void> {
    const queue = this.#ownOf(addresses);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const isFull = this.#sitemaps.length >= filesMax || this.#requests >= requestsMax || this.#urls.size >= this.#max;
      if (isFull || this.#run.isNearEnd(1)) return void (this.#isPartial = true);
      queue.push(...this.#ownOf(await this.#read(next, isGuess)));
    }
  }

  result(): z.infer<typeof output> {
    if (!this.hasSitemap) this.#run.warn('sitemap_not_found');
    const truncated = this.#isPartial || this.#unread.length > 0 || this.#urls.size >= this.#max;
    return { urls: [...this.#urls.values()], sitemaps: this.#sitemaps, unread: this.#unread, truncated };
  }

  /** The addresses that were not seen yet and are of this origin, as only they can be read in its page. */
  #ownOf(addresses: readonly string[]): string[] {
    const own: string[] = [];
    for (const url of addresses) {
      if (this.#seen.has(url) || this.#seen.size >= filesMax * requestsMax) continue;
      this.#seen.add(url);
      if (url.startsWith(`${this.#origin}/`)) own.push(url);
      else {
        this.#run.warn('sitemap_of_another_origin');
        this.#report({ url, reason: 'another_origin', status_code: null });
      }
    }
    return own;
  }

  /** Returns the sitemaps that it names. */
  async #read(url: string, isGuess: boolean): Promise<string[]> {
    this.#requests += 1;
    const limits = { bytesMax: sitemapBytesMax, entriesMax: this.#max, charsMax };
    const reply = await this.#run.act('read_file', () => this.#run.call<SitemapReply>(flowScripts.readSitemap, [url, limits]));
    const { status, isSitemap, isMalformed, isCut, urls, sitemaps } = reply;
    if (!isSitemap) {
      const isOk = status >= 200 && status < 300;
      const reason = status === 0 ? 'unreachable' : isOk ? 'not_a_sitemap' : 'http_error';
      if (!isGuess || isOk) {
        this.#run.warn('sitemap_unread');
        this.#report({ url, reason, status_code: status === 0 ? null : status });
      }
      return [];
    }
    this.#sitemaps.push(url);
    if (isMalformed) this.#run.warn('sitemap_malformed');
    if (isCut) this.#isPartial = true;
    for (const entry of urls) if (this.#urls.size < this.#max && !this.#urls.has(entry.url)) this.#urls.set(entry.url, entry);
    return sitemaps;
  }

  #report(unread: z.infer<typeof Unread>): void {
    this.#isPartial = true;
    if (this.#unread.length < requestsMax) this.#unread.push(unread);
  }
}
