/** The pages that explain the service: the front page, the guides and the API reference. They need no network and no third party. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Health } from '@berth/contract';
import type { Http } from '../http/server/server.ts';
import { Guides } from './guides.ts';
import { homePage, type Destination } from './home.ts';
import { pageHeaders, renderPage } from './frame.ts';
import { mountReference } from './reference.ts';

export interface DocsOptions {
  readHealth(): Promise<Health>;
  /** Whether the development sign-in is served. */
  hasSignIn: boolean;
}

const sources = join(import.meta.dirname, '../../../web/src/shared');
const html = { contentType: 'text/html; charset=utf-8', headers: pageHeaders };
/** Read again with its ETag. */
const revalidated = { ...pageHeaders, 'cache-control': 'no-cache' };
const cached = { 'cache-control': 'public, max-age=3600' };

export function mountDocs(http: Http, { readHealth, hasSignIn }: DocsOptions): void {
  mountFiles(http);
  mountReference(http);
  mountGuides(http, new Guides());
  const destinations: Destination[] = hasSignIn ? ['sign-in'] : [];
  http.asset('/', { ...html, load: async (origin) => homePage({ origin, health: await readHealth(), destinations }) });
}

function mountGuides(http: Http, guides: Guides): void {
  for (const address of guides.addresses)
    http.asset(address, {
      ...html,
      headers: revalidated,
      load: (origin) => renderPage({ ...guides.render(address, origin), current: 'guides' }),
      isCompressed: true,
    });
  for (const [address, { path, contentType }] of guides.images)
    http.asset(address, { contentType, headers: cached, load: () => readFile(path) });
}

function mountFiles(http: Http): void {
  const style = async (): Promise<string> => {
    const parts = [join(sources, 'palette.css'), join(sources, 'documents.css'), join(import.meta.dirname, 'docs.css')];
    return (await Promise.all(parts.map((path) => readFile(path, 'utf8')))).join('\n');
  };
  http.asset('/docs/docs.css', { contentType: 'text/css; charset=utf-8', headers: cached, load: style, isCompressed: true });
  for (const [address, name, contentType] of [
    ['/favicon.svg', 'berth.svg', 'image/svg+xml; charset=utf-8'],
    // Browsers ask for it beside replies that are not pages.
    ['/favicon.ico', 'favicon.ico', 'image/x-icon'],
  ] as const)
    http.asset(address, { contentType, headers: cached, load: () => readFile(join(sources, name)) });
}
