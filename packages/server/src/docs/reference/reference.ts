/** The OpenAPI document, and the API reference that is rendered from it. */
import { docs, endpoints, openapi } from '@berth/contract';
import { nothing } from '@berth/lib/text/html.ts';
import type { Http } from '../../http/server/server.ts';
import { pageHeaders, renderPage } from '../frame.ts';
import type { GuideLink, Guides } from '../guides.ts';
import { readDocument, type DocumentFile, type OperationPage, type ReferenceDocument } from './reference-document.ts';
import { indexMarkdown, operationMarkdown } from './reference-markdown.ts';
import { addressOf, indexContent, operationContent, operationList } from './reference-page.ts';
import type { SearchEntry } from '../search.ts';
import { withOrigin } from '../origin.ts';

const html = 'text/html; charset=utf-8';
const markdown = 'text/markdown; charset=utf-8';
const revalidated = { 'cache-control': 'no-cache' };
const pageOptions = { contentType: html, headers: { ...pageHeaders, ...revalidated }, isCompressed: true } as const;
const markdownOptions = { contentType: markdown, headers: revalidated, isCompressed: true } as const;

export class Reference {
  #document: Promise<DocumentFile> | undefined;
  /** Pages by address, with the address of the examples: as many as there are operations, some 8 MB when all were opened. */
  readonly #pages = new Map<string, string>();

  /** The document without the addresses of servers, as JSON. */
  async json(): Promise<string> {
    return (await this.#read()).json;
  }

  async document(): Promise<ReferenceDocument> {
    return (await this.#read()).reference;
  }

  /** The page of an operation, rendered once. */
  async page(id: string): Promise<string> {
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const document = await this.document();
    const page = operationPage(document, document.page(id));
    this.#pages.set(id, page);
    return page;
  }

  #read(): Promise<DocumentFile> {
    return (this.#document ??= readDocument());
  }
}

/** `guides` lists the guides by task, to which the list of operations leads. */
export function mountReference(http: Http, reference: Reference, guides: Guides): void {
  const load = async (origin: string): Promise<string> =>
    `{"servers":${JSON.stringify([{ url: origin }])},${(await reference.json()).slice(1)}\n`;
  http.asset(openapi.path, { contentType: 'application/json; charset=utf-8', headers: revalidated, load, isCompressed: true }, openapi);
  http.asset(
    docs.path,
    { ...pageOptions, load: async (origin) => withOrigin(indexPage(await reference.document(), guides.tasks), origin, html) },
    docs,
  );
  http.asset('/docs.md', {
    ...markdownOptions,
    load: async (origin) => {
      const document = await reference.document();
      return withOrigin(indexMarkdown(document.tags, document.introduction), origin, markdown);
    },
  });
  for (const { id } of endpoints) {
    const address = addressOf({ id });
    http.asset(address, {
      ...pageOptions,
      load: async (origin) => withOrigin(await reference.page(id), origin, html),
    });
    http.asset(`${address}.md`, {
      ...markdownOptions,
      load: async (origin) => withOrigin(operationMarkdown((await reference.document()).page(id)), origin, markdown),
    });
  }
}

const indexPage = ({ tags, introduction }: ReferenceDocument, tasks: readonly GuideLink[]): string =>
  renderPage({
    title: 'API reference',
    current: 'reference',
    contents: operationList(tags, null),
    content: indexContent(tags, { introduction, tasks }),
    markdown: '/docs.md',
  });

const operationPage = ({ tags }: ReferenceDocument, page: OperationPage): string =>
  renderPage({
    title: page.summary,
    current: 'reference',
    contents: operationList(tags, page),
    content: operationContent(page),
    outline: nothing,
    markdown: `${addressOf(page)}.md`,
  });

/** What the search finds of each operation: what it is called, and the names and descriptions of its fields. */
export async function* searchEntriesOf(reference: Reference): AsyncGenerator<readonly SearchEntry[]> {
  const document = await reference.document();
  for (const { name, operations } of document.tags)
    yield operations.map((entry) => ({
      address: addressOf(entry),
      page: entry.summary,
      heading: name,
      text: `${entry.method} ${entry.path} ${entry.id}. ${entry.description}`,
    }));
}
