import { z } from 'zod';
import type { TextReply } from '../../page-scripts/documents.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';

const charsMax = 4 * 1024 * 1024;
const filesMax = 20;

type Entry = { url: string; lastmod: string | null };

export const sitemap = defineFlow({
  name: 'sitemap',
  title: 'Read a sitemap',
  description: 'Finds the sitemaps of a site by robots.txt, else at `/sitemap.xml`, and returns their URLs.',
  version: '1',
  category: 'crawling',
  inputs: z.strictObject({
    url: Url.describe('URL of any page of the site, `http` or `https`, at most 8192 characters.'),
    max_urls: z.int().min(1).max(50_000).default(5000).describe('Maximum number of URLs, 1 to 50000. Default: 5000.'),
  }),
  output: z.object({
    urls: z
      .array(
        z.object({
          url: z.string().describe('URL of a page.'),
          lastmod: z.string().nullable().describe('Last change; null if not stated.'),
        }),
      )
      .describe('URLs of all sitemaps.'),
    sitemaps: z.array(z.string()).describe('Sitemaps that were read, at most 20.'),
    truncated: z
      .boolean()
      .describe(
        'Whether there are more URLs or sitemaps. Those of another origin cannot be read: `warnings` then has `sitemap_of_another_origin`.',
      ),
  }),
  example: { url: 'https://example.com/' },
  run: async (run, { url, max_urls: max }) => {
    await run.open(new URL('/', url).href, 'domcontentloaded');
    const { origin } = new URL(run.url());
    const robots = await readText(run, `${origin}/robots.txt`);
    const named = [...robots.text.matchAll(/^[ \t]*sitemap:[ \t]*(\S{1,2000})/gim)].map(([, address = '']) => address);
    let isPartial = false;
    // Only files of this origin can be read in its page.
    const ownOf = (addresses: readonly string[]): string[] => {
      const own = [...new Set(addresses)].filter((each) => each.startsWith(`${origin}/`));
      if (own.length < new Set(addresses).size) {
        run.warn('sitemap_of_another_origin');
        isPartial = true;
      }
      return own;
    };
    const queue = ownOf(named);
    if (queue.length === 0) queue.push(`${origin}/sitemap.xml`);
    const urls: Entry[] = [];
    const sitemaps: string[] = [];
    for (let next = queue.shift(); next !== undefined && sitemaps.length < filesMax && urls.length < max; next = queue.shift()) {
      const { status, text } = await readText(run, next);
      if (status !== 200) continue;
      sitemaps.push(next);
      const parsed = await run.call<{ urls: Entry[]; sitemaps: string[] }>(flowScripts.parseSitemap, [text, max]);
      urls.push(...parsed.urls.slice(0, max - urls.length));
      queue.push(...ownOf(parsed.sitemaps.filter((each) => !sitemaps.includes(each))).slice(0, filesMax));
    }
    return { urls, sitemaps, truncated: isPartial || queue.length > 0 || urls.length >= max };
  },
});

const readText = (run: FlowRun, url: string): Promise<TextReply> =>
  run.act('read_file', () => run.call<TextReply>(flowScripts.fetchText, [url, charsMax, 'GET']));
