/** What sections of the report share: the clean capture, and its requests with what is read of them, parsed once. */
import type { Entry, Header } from 'har-format';
import { getDomain } from 'tldts';
import type { Capture, PageSnapshot } from './capture.ts';
import type { Redactions, Secret } from './secret.ts';

export interface ReportInput {
  /** The capture without secrets: placeholders stand for them. */
  capture: Capture;
  secrets: Secret[];
  redactions: Redactions;
  /** One exchange for each entry of the capture, in its order. */
  exchanges: CapturedExchange[];
  /** Registrable domain of the inspected URL; the host where there is none, as of an IP address. */
  site: string;
}

export type ResourceType =
  | 'document'
  | 'script'
  | 'stylesheet'
  | 'image'
  | 'font'
  | 'media'
  | 'xhr'
  | 'fetch'
  | 'websocket'
  | 'eventsource'
  | 'manifest'
  | 'preflight'
  | 'other';

export interface ExchangeUrl {
  /** The URL as it stands in the entry, with placeholders. */
  href: string;
  /** `https://api.example.com:8443`, lower case. */
  origin: string;
  /** `https:`, as in URL. */
  protocol: string;
  /** Host name and port, without the default port. */
  host: string;
  /** Host name without the port. */
  hostname: string;
  /** Registrable domain, or the host name where there is none. */
  site: string;
  /** Starts with a slash; not decoded. */
  path: string;
  /** Decoded parameters in order; at most `queryParamsMax`. */
  query: [name: string, value: string][];
  /** The fragment without the `#`. */
  fragment: string;
}

/** A request and its response. Header names are lower case; repeated headers are joined by a comma, `set-cookie` by a line feed. */
export interface CapturedExchange {
  /** Id in the report, such as `r12`: the index of the entry. */
  readonly id: string;
  readonly index: number;
  readonly entry: Entry;
  readonly method: string;
  readonly url: ExchangeUrl;
  readonly resourceType: ResourceType;
  /** Whether the request goes to the inspected site, or to a sibling host that receives the site's tokens or cookies. */
  readonly isFirstParty: boolean;
  /** Status of the response; null without one. */
  readonly statusCode: number | null;
  /** Milliseconds since the first request of the capture. */
  readonly startedMs: number;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly responseHeaders: ReadonlyMap<string, string>;
  /** Media type without parameters, lower case; empty without a body. */
  readonly requestType: string;
  readonly responseType: string;
  readonly requestText: string;
  readonly responseText: string;
  /** The parsed body; undefined where it is no JSON. */
  readonly requestJson: JsonValue | undefined;
  readonly responseJson: JsonValue | undefined;
  readonly page: PageSnapshot | null;
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

const queryParamsMax = 500;

/** The input of all sections. `capture` is clean: it comes from `redact`. */
export function createReportInput(clean: { capture: Capture; secrets: Secret[]; redactions: Redactions }): ReportInput {
  const { capture, secrets } = clean;
  const site = toExchangeUrl(capture.url).site;
  const urls = capture.har.log.entries.map(({ request }) => toExchangeUrl(request.url));
  const sites = firstPartySites(site, urls, secrets);
  const startMs = capture.har.log.entries.reduce((min, entry) => Math.min(min, timeOf(entry)), Infinity);
  const pages = new Map(capture.pages.map((page) => [page.pageId, page]));
  const exchanges = capture.har.log.entries.map((entry, index) => {
    const url = urls[index] ?? toExchangeUrl('');
    const page = pages.get(entry.pageref ?? '') ?? null;
    return new ParsedExchange(entry, { index, url, page, isFirstParty: sites.has(url.site), startedMs: timeOf(entry) - startMs });
  });
  return { ...clean, exchanges, site };
}

class ParsedExchange implements CapturedExchange {
  readonly id: string;
  readonly index: number;
  readonly entry: Entry;
  readonly method: string;
  readonly url: ExchangeUrl;
  readonly resourceType: ResourceType;
  readonly isFirstParty: boolean;
  readonly statusCode: number | null;
  readonly startedMs: number;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly responseHeaders: ReadonlyMap<string, string>;
  readonly requestType: string;
  readonly responseType: string;
  readonly page: PageSnapshot | null;
  #requestJson: { value: JsonValue | undefined } | null = null;
  #responseJson: { value: JsonValue | undefined } | null = null;

  constructor(entry: Entry, shared: Pick<CapturedExchange, 'index' | 'url' | 'page' | 'isFirstParty' | 'startedMs'>) {
    this.entry = entry;
    this.index = shared.index;
    this.id = `r${shared.index}`;
    this.url = shared.url;
    this.page = shared.page;
    this.isFirstParty = shared.isFirstParty;
    this.startedMs = Number.isFinite(shared.startedMs) ? Math.round(shared.startedMs) : 0;
    this.method = entry.request.method.toUpperCase();
    this.statusCode = entry.response.status > 0 ? entry.response.status : null;
    this.requestHeaders = headerMap(entry.request.headers);
    this.responseHeaders = headerMap(entry.response.headers);
    this.requestType = mediaType(entry.request.postData?.mimeType ?? this.requestHeaders.get('content-type') ?? '');
    this.responseType = mediaType(this.responseHeaders.get('content-type') ?? entry.response.content.mimeType);
    this.resourceType = resourceTypeOf(entry, this.responseType);
  }

  get requestText(): string {
    return this.entry.request.postData?.text ?? '';
  }

  get responseText(): string {
    return this.entry.response.content.text ?? '';
  }

  get requestJson(): JsonValue | undefined {
    this.#requestJson ??= { value: parseJson(this.requestText) };
    return this.#requestJson.value;
  }

  get responseJson(): JsonValue | undefined {
    this.#responseJson ??= { value: isMarkup(this.responseType) ? undefined : parseJson(this.responseText) };
    return this.#responseJson.value;
  }
}

const isMarkup = (type: string): boolean => type === 'text/html' || type === 'text/css' || type.endsWith('javascript');

/** The parsed JSON; undefined for what is no object or array. A guard against JSON hijacking in front is skipped. */
export function parseJson(text: string): JsonValue | undefined {
  const body = text.startsWith(")]}'") ? text.slice(text.indexOf('\n') + 1) : text;
  const first = body.trimStart()[0];
  if (first !== '{' && first !== '[') return undefined;
  try {
    return JSON.parse(body) as JsonValue;
  } catch {
    return undefined;
  }
}

export const mediaType = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

function headerMap(headers: readonly Header[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    const before = map.get(key);
    map.set(key, before === undefined ? value : before + (key === 'set-cookie' ? '\n' : ', ') + value);
  }
  return map;
}

function timeOf({ startedDateTime }: Entry): number {
  const time = Date.parse(startedDateTime);
  return Number.isNaN(time) ? 0 : time;
}

/** Reads what the URL class would percent-encode or refuse: a clean URL has placeholders. */
export function toExchangeUrl(href: string): ExchangeUrl {
  const hashAt = href.indexOf('#');
  const fragment = hashAt < 0 ? '' : href.slice(hashAt + 1);
  const beforeHash = hashAt < 0 ? href : href.slice(0, hashAt);
  const queryAt = beforeHash.indexOf('?');
  const query = queryAt < 0 ? '' : beforeHash.slice(queryAt + 1);
  const hierarchy = queryAt < 0 ? beforeHash : beforeHash.slice(0, queryAt);
  const [, protocol = '', authority = '', path = ''] = /^([a-z][a-z\d+.-]{0,20}:)\/\/([^/\\]*)(.*)$/is.exec(hierarchy) ?? [];
  const parsed = URL.parse(`${protocol}//${authority.slice(authority.lastIndexOf('@') + 1)}`);
  const hostname = parsed?.hostname ?? '';
  return {
    href,
    origin: parsed ? `${parsed.protocol}//${parsed.host}` : '',
    protocol: parsed?.protocol ?? protocol.toLowerCase(),
    host: parsed?.host ?? '',
    hostname,
    site: getDomain(hostname) ?? hostname,
    path: path === '' ? '/' : path,
    query: query === '' ? [] : [...new URLSearchParams(query)].slice(0, queryParamsMax),
    fragment,
  };
}

const credentialPositions = new Set(['request_header', 'request_cookie']);
const issuedPositions = new Set(['request_header', 'request_cookie', 'set_cookie', 'response_body']);

/** The site, and the sites of hosts that are sent a credential which the site itself issues or receives. */
function firstPartySites(site: string, urls: readonly ExchangeUrl[], secrets: readonly Secret[]): Set<string> {
  const sites = new Set([site]);
  const siteOf = (index: number | null): string => (index === null ? '' : (urls[index]?.site ?? ''));
  for (const { locations } of secrets) {
    if (!locations.some(({ position, entryIndex }) => issuedPositions.has(position) && siteOf(entryIndex) === site)) continue;
    for (const { position, entryIndex } of locations) if (credentialPositions.has(position)) sites.add(siteOf(entryIndex));
  }
  return sites;
}

const chromeTypes: ReadonlyMap<string, ResourceType> = new Map([
  ['document', 'document'],
  ['script', 'script'],
  ['stylesheet', 'stylesheet'],
  ['image', 'image'],
  ['font', 'font'],
  ['media', 'media'],
  ['texttrack', 'media'],
  ['xhr', 'xhr'],
  ['fetch', 'fetch'],
  ['websocket', 'websocket'],
  ['eventsource', 'eventsource'],
  ['manifest', 'manifest'],
  ['preflight', 'preflight'],
  ['ping', 'other'],
  ['other', 'other'],
]);

/** The type that the browser states, else by method, media type and the `sec-fetch-dest` header, which HARs of Firefox have. */
function resourceTypeOf({ request, response, _resourceType }: Entry, responseType: string): ResourceType {
  const stated = chromeTypes.get((_resourceType ?? '').toLowerCase());
  if (stated) return stated;
  if (request.method === 'OPTIONS') return 'preflight';
  if (response.status === 101 || /^wss?:/i.test(request.url)) return 'websocket';
  if (responseType === 'text/event-stream') return 'eventsource';
  const headers = headerMap(request.headers);
  const destination = headers.get('sec-fetch-dest') ?? '';
  if (destination === 'empty') return 'fetch';
  const fromDestination = destinationTypes.get(destination);
  if (fromDestination) return fromDestination;
  if (headers.get('x-requested-with')?.toLowerCase() === 'xmlhttprequest') return 'xhr';
  return typeByMedia(responseType);
}

const destinationTypes: ReadonlyMap<string, ResourceType> = new Map([
  ['document', 'document'],
  ['iframe', 'document'],
  ['frame', 'document'],
  ['script', 'script'],
  ['worker', 'script'],
  ['serviceworker', 'script'],
  ['style', 'stylesheet'],
  ['image', 'image'],
  ['font', 'font'],
  ['audio', 'media'],
  ['video', 'media'],
  ['track', 'media'],
  ['manifest', 'manifest'],
]);

function typeByMedia(type: string): ResourceType {
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'document';
  if (type.endsWith('javascript')) return 'script';
  if (type === 'text/css') return 'stylesheet';
  if (type.startsWith('image/')) return 'image';
  if (type.startsWith('font/') || type.includes('font-')) return 'font';
  if (type.startsWith('audio/') || type.startsWith('video/')) return 'media';
  if (type === 'application/manifest+json') return 'manifest';
  return type === 'application/json' || type.endsWith('+json') ? 'fetch' : 'other';
}
