/** The site itself: its first page, its server, what it is built with. */
import type { InspectSite } from '@berth/contract';
import { isObject } from '../auth/credentials.ts';
import { protocolOf } from '../assets/summary.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { firstDocument, isDocument, isRedirect, rawTreeOf, readPages, resolve, toEvidence, type ReportPage } from '../page/pages.ts';
import { textCharsOf, textOf, type PageElement } from '../page/tree.ts';
import { readLlmsTxt, readRobots, readSecurityTxt } from './robots.ts';
import { readStructuredData } from './structured-data.ts';
import { readTechnologies } from './technologies/technologies.ts';

const textCharsMax = 1000;

export function createSite(input: ReportInput): InspectSite {
  const pages = readPages(input);
  const [page] = pages;
  const document = firstDocument(input);
  const header = (name: string): string | null => document?.responseHeaders.get(name)?.slice(0, 500) || null;
  const technologies = readTechnologies(input);
  const detected = (...categories: string[]): InspectSite['waf'] =>
    technologies
      .filter(({ category }) => categories.includes(category))
      .map(({ name, confidence, evidence }) => ({ name, confidence, evidence }));
  return {
    title: (page?.snapshot?.title ?? titleOf(page)).slice(0, textCharsMax),
    description: metaOf(page, 'description') ?? metaOf(page, 'og:description'),
    language: page?.tree.named('html')[0]?.attributes.get('lang')?.slice(0, 35) || header('content-language'),
    redirects: readRedirects(input, document),
    status_code: document?.statusCode ?? 0,
    ip: document?.entry.serverIPAddress?.slice(0, 60) || null,
    protocol: (document && protocolOf(document.entry.response.httpVersion)) || null,
    tls: document ? readTls(document) : null,
    server: header('server'),
    powered_by: header('x-powered-by'),
    cdn: detected('cdn')[0] ?? null,
    waf: detected('waf', 'bot_protection'),
    technologies,
    rendering: readRendering(page),
    data_blobs: readBlobs(pages),
    service_worker: pages.some(({ snapshot }) => snapshot?.hasServiceWorker),
    manifest: readManifest(input),
    robots: readRobots(input),
    llms_txt: readLlmsTxt(input),
    security_txt: readSecurityTxt(input),
    structured_data: readStructuredData(input),
  };
}

const titleOf = (page: ReportPage | undefined): string => {
  const title = page?.tree.named('title')[0];
  return title ? textOf(title, textCharsMax) : '';
};

/** The content of a meta element by its name or property. */
export function metaOf(page: ReportPage | undefined, name: string): string | null {
  const isNamed = ({ attributes }: PageElement): boolean =>
    (attributes.get('name') ?? attributes.get('property') ?? '').toLowerCase() === name;
  return page?.tree.named('meta').find(isNamed)?.attributes.get('content')?.slice(0, textCharsMax) || null;
}

const redirectsMax = 20;

/** Documents before the first page: by their status, by their meta element, or by a script. */
function readRedirects({ exchanges }: ReportInput, end: CapturedExchange | null): InspectSite['redirects'] {
  const before = exchanges.filter(
    (exchange) => isDocument(exchange) && end !== null && exchange.index < end.index && exchange.entry.pageref === end.entry.pageref,
  );
  return before.slice(0, redirectsMax).flatMap((exchange): InspectSite['redirects'] => {
    const status = exchange.statusCode ?? 0;
    const isMeta = /http-equiv=["']?refresh\b/i.test(exchange.responseText.slice(0, 20_000));
    return [{ url: exchange.url.href, status_code: status, type: isRedirect(status) ? 'http' : isMeta ? 'meta' : 'js' }];
  });
}

interface SecurityDetails {
  protocol?: unknown;
  issuer?: unknown;
  validTo?: unknown;
  sanCount?: unknown;
  sanList?: unknown;
}

export function readTls({ entry }: CapturedExchange): InspectSite['tls'] {
  const details = entry['_securityDetails'] as SecurityDetails | null | undefined;
  if (typeof details !== 'object' || details === null || typeof details.protocol !== 'string') return null;
  const { protocol, issuer, validTo, sanCount, sanList } = details;
  const names = Array.isArray(sanList) ? sanList.length : sanCount;
  // Chrome states Unix seconds, HARs of other tools a date.
  const validMs = typeof validTo === 'number' ? validTo * 1000 : Date.parse(typeof validTo === 'string' ? validTo : '');
  return {
    version: protocol.slice(0, 30),
    issuer: typeof issuer === 'string' && issuer !== '' ? issuer.slice(0, 200) : null,
    valid_to: Math.abs(validMs) < 8.64e15 ? new Date(validMs).toISOString() : null,
    san_count: typeof names === 'number' && Number.isInteger(names) && names >= 0 ? names : null,
  };
}

/** Share of the text in the server's document from which the server made the page, and up to which the browser made it. */
const serverShare = 0.8;
const browserShare = 0.2;
const textCharsMin = 50;

/** Minimum characters of a page whose share says surely where the page is made. */
const sureCharsMin = 500;

export function readRendering(page: ReportPage | undefined): InspectSite['rendering'] {
  const evidence = toEvidence([page?.document ?? null]);
  const unknown = { type: 'unknown', ratio: null, confidence: 'low', evidence } as const;
  if (!page?.snapshot || !page.document || page.document.responseText === '') return unknown;
  const rendered = textCharsOf(page.tree);
  if (rendered < textCharsMin) return unknown;
  const ratio = Math.round((textCharsOf(rawTreeOf(page.document)) / rendered) * 100) / 100;
  const type = ratio >= serverShare ? 'ssr' : ratio <= browserShare ? 'csr' : 'hybrid';
  return { type, ratio, confidence: type === 'hybrid' || rendered < sureCharsMin ? 'medium' : 'high', evidence };
}

const blobsMax = 20;

function readBlobs(pages: readonly ReportPage[]): InspectSite['data_blobs'] {
  const blobs = new Map<string, InspectSite['data_blobs'][number]>();
  for (const { name, keys, bytes } of pages.flatMap(({ snapshot }) => snapshot?.dataBlobs ?? []))
    if (!blobs.has(name) && blobs.size < blobsMax)
      blobs.set(name, { name, keys: keys.slice(0, 50), bytes: Math.max(0, Math.round(bytes)) });
  return [...blobs.values()];
}

function readManifest(input: ReportInput): InspectSite['manifest'] {
  for (const { tree, url } of readPages(input)) {
    const href = tree
      .named('link')
      .find(({ attributes }) => attributes.get('rel')?.toLowerCase() === 'manifest')
      ?.attributes.get('href');
    const address = href === undefined ? null : resolve(href, url);
    if (address === null) continue;
    const json = input.exchanges.find((exchange) => exchange.url.href === address)?.responseJson;
    const name = isObject(json) ? (json['name'] ?? json['short_name']) : null;
    return { url: address, name: typeof name === 'string' ? name.slice(0, 200) : null };
  }
  return null;
}
