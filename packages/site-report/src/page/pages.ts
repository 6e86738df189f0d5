/** The pages of a capture, parsed once for all sections. */
import type { PageSnapshot } from '../capture.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { PageTree } from './tree.ts';

export interface ReportPage {
  url: string;
  /** Elements of the rendered page; of an uploaded HAR, those of the response. */
  tree: PageTree;
  /** The page as it was captured; null for an uploaded HAR. */
  snapshot: PageSnapshot | null;
  /** The response that the page came from; null if it was not captured. */
  document: CapturedExchange | null;
}

/** Maximum number of pages: as many as an inspection visits. */
const pagesMax = 10;

/** Runs once for each report: several sections need the result. */
export function oncePerReport<T>(read: (input: ReportInput) => T): (input: ReportInput) => T {
  const results = new WeakMap<ReportInput, { value: T }>();
  return (input) => {
    let result = results.get(input);
    if (!result) results.set(input, (result = { value: read(input) }));
    return result.value;
  };
}

/** The pages in the order of the visit. */
export const readPages = oncePerReport(parsePages);

function parsePages({ capture, exchanges }: ReportInput): ReportPage[] {
  const documents = exchanges.filter(isDocument);
  if (capture.pages.length === 0) return documents.filter(hasHtml).slice(0, pagesMax).map(pageOfResponse);
  return capture.pages.slice(0, pagesMax).map((snapshot) => ({
    url: snapshot.url,
    tree: new PageTree(snapshot.html),
    snapshot,
    document: documentOf(snapshot, documents),
  }));
}

const rawTrees = new WeakMap<CapturedExchange, PageTree>();

/** A document as the server sent it, parsed once. */
export function rawTreeOf(document: CapturedExchange): PageTree {
  let tree = rawTrees.get(document);
  if (!tree) rawTrees.set(document, (tree = new PageTree(document.responseText)));
  return tree;
}

const pageOfResponse = (document: CapturedExchange): ReportPage => ({
  url: document.url.href,
  tree: rawTreeOf(document),
  snapshot: null,
  document,
});

/** Documents of frames are not pages. */
export const isDocument = ({ resourceType, requestHeaders }: CapturedExchange): boolean =>
  resourceType === 'document' && !/^i?frame$/.test(requestHeaders.get('sec-fetch-dest') ?? '');

const hasHtml = ({ responseType, responseText, statusCode }: CapturedExchange): boolean =>
  responseText !== '' && /^(?:text\/html|application\/xhtml\+xml)$/.test(responseType) && (statusCode ?? 0) < 500;

const withoutFragment = (url: string): string => url.split('#', 1)[0] ?? '';

function documentOf({ url, pageId }: PageSnapshot, documents: readonly CapturedExchange[]): CapturedExchange | null {
  const own = documents.filter(({ entry }) => entry.pageref === pageId);
  const address = withoutFragment(url);
  const match = own.findLast((document) => withoutFragment(document.url.href) === address);
  // A script may have changed the address since.
  return match ?? own.findLast(({ statusCode }) => !isRedirect(statusCode)) ?? own.at(-1) ?? null;
}

export const isRedirect = (status: number | null): boolean => status !== null && [301, 302, 303, 307, 308].includes(status);

/** The document of the first page. */
export const firstDocument = (input: ReportInput): CapturedExchange | null =>
  readPages(input)[0]?.document ?? input.exchanges.find(isDocument) ?? null;

/** Unix time of the first request, in milliseconds. */
export function captureStartMs({ exchanges }: ReportInput): number {
  const [first] = exchanges;
  const time = first ? Date.parse(first.entry.startedDateTime) - first.startedMs : Number.NaN;
  return Number.isNaN(time) ? 0 : time;
}

/** A URL without the values of its parameters, and without a fragment. */
export function withoutValues({ origin, path, query }: CapturedExchange['url']): string {
  const names = [...new Set(query.map(([name]) => name))].slice(0, 20);
  return `${origin}${path}${names.length === 0 ? '' : `?${names.map((name) => `${name}=`).join('&')}`}`;
}

const evidenceMax = 20;

/** Ids of the first `evidenceMax` exchanges in the order of the capture, each once. */
export const toEvidence = (exchanges: Iterable<CapturedExchange | null>): string[] =>
  [...new Set([...exchanges].flatMap((exchange) => (exchange ? [exchange.index] : [])))]
    .sort((a, b) => a - b)
    .slice(0, evidenceMax)
    .map((index) => `r${index}`);

/** Resolves what a page or a header refers to; null for what is no web address. */
export function resolve(reference: string, base: string): string | null {
  const url = URL.parse(reference.trim().slice(0, 8192), base);
  return url && /^https?:$/.test(url.protocol) ? restorePlaceholders(url.href) : null;
}

/** The URL class escapes the braces of placeholders in paths. */
const restorePlaceholders = (href: string): string => href.replaceAll('%7B%7B', '{{').replaceAll('%7D%7D', '}}');
