/** The pages that explain the service: the front page, the guides and the API reference. They need no network and no third party. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Health } from '@berth/contract';
import type { Http } from '../http/server/server.ts';
import { Guides } from './guides.ts';
import { homePage, type Destination } from './home.ts';
import { pageHeaders, renderPage } from './frame.ts';
import { llmsFullText, llmsText } from './llms.ts';
import { mountReference, Reference, searchEntriesOf } from './reference/reference.ts';
import { Search, searchContent, type SearchEntry } from './search.ts';

export interface DocsOptions {
  readHealth(): Promise<Health>;
  /** Whether the development sign-in is served. */
  hasSignIn: boolean;
}

const sources = join(import.meta.dirname, '../../../web/src/shared');
const html = { contentType: 'text/html; charset=utf-8', headers: pageHeaders };
/** Read again with its ETag. */
const revalidated = { 'cache-control': 'no-cache' };
const page = { ...html, headers: { ...pageHeaders, ...revalidated }, isCompressed: true };
const cached = { 'cache-control': 'public, max-age=3600' };

export function mountDocs(http: Http, { readHealth, hasSignIn }: DocsOptions): void {
  const guides = new Guides();
  const reference = new Reference();
  mountFiles(http);
  mountReference(http, reference, guides);
  mountGuides(http, guides);
  mountSearch(http, guides, reference);
  mountTexts(http, guides, reference);
  const destinations: Destination[] = hasSignIn ? ['sign-in'] : [];
  http.asset('/', { ...html, load: async (origin) => homePage({ origin, health: await readHealth(), destinations }) });
}

function mountGuides(http: Http, guides: Guides): void {
  for (const address of guides.addresses) {
    http.asset(address, { ...page, load: (origin) => renderPage({ ...guides.render(address, origin), current: 'guides' }) });
    const markdown = { contentType: 'text/markdown; charset=utf-8', headers: revalidated, isCompressed: true };
    http.asset(`${address}.md`, { ...markdown, load: (origin) => guides.markdown(address, origin) });
  }
  for (const [address, { path, contentType }] of guides.images)
    http.asset(address, { contentType, headers: cached, load: () => readFile(path) });
}

function mountSearch(http: Http, guides: Guides, reference: Reference): void {
  const search = new Search(async function* (): AsyncGenerator<readonly SearchEntry[]> {
    yield* searchEntriesOf(reference);
    yield* guides.searchEntries();
  });
  const load = async (origin: string, query: URLSearchParams): Promise<string> => {
    const text = query.get('q') ?? '';
    return renderPage({
      title: 'Search',
      content: searchContent(text, await search.find(text)),
      contents: guides.contents('/docs/search', text),
      current: 'guides',
    });
  };
  // It holds what somebody wrote: neither compressed beside the rest nor kept.
  http.asset('/docs/search', { ...html, headers: { ...pageHeaders, 'cache-control': 'no-store' }, load });
}

function mountTexts(http: Http, guides: Guides, reference: Reference): void {
  const text = { contentType: 'text/plain; charset=utf-8', headers: revalidated, isCompressed: true };
  http.asset('/llms.txt', { ...text, load: async (origin) => llmsText(origin, guides, await reference.document()) });
  http.asset('/llms-full.txt', { ...text, load: async (origin) => llmsFullText(origin, guides, await reference.document()) });
}

function mountFiles(http: Http): void {
  const style = async (): Promise<string> => {
    const parts = [
      join(sources, 'palette.css'),
      join(sources, 'documents.css'),
      join(import.meta.dirname, 'docs.css'),
      join(import.meta.dirname, 'reference/reference.css'),
    ];
    return (await Promise.all(parts.map((path) => readFile(path, 'utf8')))).join('\n');
  };
  http.asset('/docs/docs.css', { contentType: 'text/css; charset=utf-8', headers: cached, load: style, isCompressed: true });
  const script = (): Promise<string> => readFile(join(import.meta.dirname, 'docs.js'), 'utf8');
  http.asset('/docs/docs.js', { contentType: 'text/javascript; charset=utf-8', headers: cached, load: script, isCompressed: true });
  for (const [address, name, contentType] of [
    ['/favicon.svg', 'berth.svg', 'image/svg+xml; charset=utf-8'],
    // Browsers ask for it beside replies that are not pages.
    ['/favicon.ico', 'favicon.ico', 'image/x-icon'],
  ] as const)
    http.asset(address, { contentType, headers: cached, load: () => readFile(join(sources, name)) });
}
