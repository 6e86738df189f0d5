/** What search engines read of the pages. */
import type { InspectSeo } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { firstDocument, readPages, resolve, type ReportPage } from '../page/pages.ts';
import { textOf, type PageTree } from '../page/tree.ts';
import { metaOf } from './site.ts';

const headingsMax = 10;
const alternatesMax = 50;
const feedsMax = 20;
const linksReadMax = 20_000;

export function createSeo(input: ReportInput): InspectSeo {
  const pages = readPages(input);
  const [page] = pages;
  const document = firstDocument(input);
  const tree = page?.tree;
  const robots = metaOf(page, 'robots') ?? document?.responseHeaders.get('x-robots-tag')?.slice(0, 500) ?? null;
  const h1 =
    tree
      ?.named('h1')
      .slice(0, headingsMax)
      .map((heading) => textOf(heading)) ?? [];
  const section = {
    canonical: linkOf(page, 'canonical'),
    robots_meta: robots,
    indexable: !/\b(?:noindex|none)\b/i.test(robots ?? '') && (document?.statusCode ?? 200) < 400,
    h1,
    headings: tree?.named('h1', 'h2', 'h3', 'h4', 'h5', 'h6').length ?? 0,
    viewport: metaOf(page, 'viewport'),
    alternates: alternatesOf(page),
    open_graph: tree ? openGraphOf(tree) : [],
    images_without_alt: pages.reduce(
      (sum, each) => sum + each.tree.named('img').filter(({ attributes }) => !attributes.has('alt')).length,
      0,
    ),
    ...countLinks(page, input.site),
    feeds: feedsOf(page),
  };
  return { ...section, notes: page ? notesOf(section, page) : [] };
}

function linkOf(page: ReportPage | undefined, rel: string): string | null {
  const href = page?.tree
    .named('link')
    .find(({ attributes }) => attributes.get('rel')?.toLowerCase() === rel)
    ?.attributes.get('href');
  return href === undefined || !page ? null : resolve(href, page.url);
}

const alternatesOf = (page: ReportPage | undefined): InspectSeo['alternates'] =>
  (page?.tree.named('link') ?? [])
    .flatMap(({ attributes }) => {
      const [lang, href] = [attributes.get('hreflang'), attributes.get('href')];
      const url = lang === undefined || href === undefined || !page ? null : resolve(href, page.url);
      return url === null || lang === undefined ? [] : [{ lang: lang.slice(0, 35), url }];
    })
    .slice(0, alternatesMax);

const openGraphOf = (tree: PageTree): string[] =>
  [
    ...new Set(
      tree.named('meta').flatMap(({ attributes }) => {
        const property = attributes.get('property') ?? '';
        return property.startsWith('og:') ? [property.slice(0, 60)] : [];
      }),
    ),
  ].slice(0, 50);

function countLinks(page: ReportPage | undefined, site: string): Pick<InspectSeo, 'links_internal' | 'links_external'> {
  const counts = { links_internal: 0, links_external: 0 };
  if (!page) return counts;
  const own = URL.parse(page.url)?.hostname;
  for (const { attributes } of page.tree.named('a').slice(0, linksReadMax)) {
    const href = attributes.get('href');
    const url = href === undefined || href.startsWith('#') ? null : URL.parse(href, page.url);
    if (!url || !/^https?:$/.test(url.protocol)) continue;
    const isInternal = url.hostname === own || url.hostname === site || url.hostname.endsWith(`.${site}`);
    counts[isInternal ? 'links_internal' : 'links_external'] += 1;
  }
  return counts;
}

const feedsOf = (page: ReportPage | undefined): string[] =>
  (page?.tree.named('link') ?? [])
    .flatMap(({ attributes }) => {
      const isFeed = /^application\/(?:rss|atom|feed)\+(?:xml|json)$/i.test(attributes.get('type') ?? '');
      return isFeed && page ? (resolve(attributes.get('href') ?? '', page.url) ?? []) : [];
    })
    .slice(0, feedsMax);

const titleCharsMax = 70;

function notesOf(section: Omit<InspectSeo, 'notes'>, page: ReportPage): string[] {
  const title = page.snapshot?.title ?? '';
  const description = metaOf(page, 'description');
  const checks: [applies: boolean, note: string][] = [
    [page.snapshot !== null && title === '', 'The page has no title.'],
    [title.length > titleCharsMax, `The title has more than ${titleCharsMax} characters, and search engines cut it.`],
    [description === null, 'The page has no description.'],
    [section.h1.length === 0, 'The page has no first-level heading.'],
    [section.h1.length > 1, 'The page has more than one first-level heading.'],
    [section.canonical === null, 'The page has no canonical URL.'],
    [section.viewport === null, 'The page has no viewport for phones.'],
    [!page.tree.named('html').some(({ attributes }) => attributes.has('lang')), 'The page does not declare its language.'],
    [!section.indexable, 'Search engines may not index the page.'],
    [section.images_without_alt > 0, 'Images have no alternative text.'],
  ];
  return checks.flatMap(([applies, note]) => (applies ? [note] : []));
}
