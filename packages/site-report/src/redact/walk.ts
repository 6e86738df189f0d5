/** Visits each text of a capture, and builds the capture of what the visits return. */
import type { Cookie, Entry, Har, Header, PostData, Request, Response } from 'har-format';
import type { Capture, PageSnapshot, StorageItem } from '../capture.ts';
import type { SecretPosition } from '../secret.ts';
import { formatOf, type TextFormat } from '@berth/lib/secrets/redact/texts.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';

/** How a text is read for secrets. `value`: of the parameter or field `name`. */
export type Reading = TextFormat | 'url' | 'request_header' | 'response_header' | 'cookie' | 'value' | 'key' | 'none';

export interface Source {
  reading: Reading;
  position: SecretPosition;
  entryIndex: number | null;
  name: string | null;
}

export type TextVisitor = (text: string, source: Source) => string;

export function mapCapture(capture: Capture, visit: TextVisitor): Capture {
  const source = { position: 'other', entryIndex: null, name: null } as const;
  const text = (value: string): string => visit(value, { ...source, reading: 'text' });
  return {
    url: visit(capture.url, { ...source, reading: 'url' }),
    har: mapHar(capture.har, visit),
    pages: capture.pages.map((page) => mapPage(page, visit)),
    cookies: capture.cookies.map((cookie) => ({
      ...cookie,
      name: visit(cookie.name, { ...source, position: 'cookie_jar', reading: 'key' }),
      path: visit(cookie.path, { ...source, reading: 'url' }),
      value: visit(cookie.value, { ...source, position: 'cookie_jar', name: cookie.name, reading: 'cookie' }),
    })),
    probes: capture.probes.map((probe) => ({
      ...probe,
      body: visit(probe.body, { ...source, position: 'probe', reading: formatOf(probe.body) }),
    })),
    actions: capture.actions,
    loss: { ...capture.loss, reasons: capture.loss.reasons.map(text) },
  };
}

function mapPage(page: PageSnapshot, visit: TextVisitor): PageSnapshot {
  const source = { position: 'page_html', entryIndex: null, name: null } as const;
  const url = (value: string): string => visit(value, { ...source, position: 'other', reading: 'url' });
  const text = (value: string, position: SecretPosition): string => visit(value, { ...source, position, reading: 'text' });
  const items = (list: StorageItem[], position: SecretPosition): StorageItem[] =>
    list.map(({ key, value }) => ({
      key: visit(key, { ...source, position, reading: 'key' }),
      value: visit(value, { ...source, position, name: key, reading: 'value' }),
    }));
  return {
    ...page,
    url: url(page.url),
    title: text(page.title, 'page_html'),
    html: visit(page.html, { ...source, reading: 'html' }),
    dataBlobs: page.dataBlobs.map((blob) => ({ ...blob, keys: blob.keys.map((key) => visit(key, { ...source, reading: 'key' })) })),
    localStorage: items(page.localStorage, 'local_storage'),
    sessionStorage: items(page.sessionStorage, 'session_storage'),
    vitals: { ...page.vitals, lcpElement: page.vitals.lcpElement && text(page.vitals.lcpElement, 'page_html') },
    coverage: page.coverage.map((item) => ({ ...item, url: url(item.url) })),
    images: page.images.map((image) => ({ ...image, url: url(image.url) })),
    consoleErrors: page.consoleErrors.map((line) => ({ ...line, text: text(line.text, 'console'), url: line.url && url(line.url) })),
  };
}

function mapHar({ log }: Har, visit: TextVisitor): Har {
  const text = (value: string): string => visit(value, { reading: 'text', position: 'other', entryIndex: null, name: null });
  return {
    log: {
      version: log.version,
      creator: log.creator,
      ...(log.browser && { browser: log.browser }),
      ...(log.pages && { pages: log.pages.map((page) => ({ ...page, title: text(page.title) })) }),
      entries: log.entries.map((entry, index) => mapEntry(entry, index, visit)),
    },
  };
}

const messagePositions: Readonly<Record<string, SecretPosition>> = { send: 'websocket_sent', receive: 'websocket_received' };

function mapEntry(entry: Entry, entryIndex: number, visit: TextVisitor): Entry {
  const {
    request,
    response,
    _webSocketMessages: messages,
    _eventSourceMessages: events,
    ...others
  } = entry as Entry & {
    _eventSourceMessages?: unknown[];
  };
  const at = (position: SecretPosition, reading: Reading, name: string | null = null): Source => ({ reading, position, entryIndex, name });
  const rest = mapTexts(others, (text) => visit(text, at('other', text.includes('://') ? 'url' : 'none')));
  const mapped: Entry & { _eventSourceMessages?: unknown[] } = {
    ...rest,
    request: mapRequest(request, at, visit),
    response: mapResponse(response, at, visit),
  };
  if (messages)
    mapped._webSocketMessages = messages.map((message) => ({
      ...message,
      data: visit(message.data, at(messagePositions[message.type] ?? 'websocket_received', readingOfMessage(message.data))),
    }));
  if (Array.isArray(events))
    mapped._eventSourceMessages = events.map((event) => mapTexts(event, (text) => visit(text, at('event_stream', readingOfMessage(text)))));
  return mapped;
}

/** Socket.IO puts digits before its JSON. */
const readingOfMessage = (text: string): Reading =>
  /^(?:\d{0,6}(?:\/[\w/-]{0,40},)?\s?|a)(?=[[{])/.test(text.slice(0, 60)) ? 'json' : formatOf(text);

type At = (position: SecretPosition, reading: Reading, name?: string | null) => Source;

function mapHeaders(headers: readonly Header[], visit: TextVisitor, sourceOf: (name: string) => Source): Header[] {
  return headers.map(({ name, value }) => ({
    name: visit(name, { ...sourceOf(name), reading: 'key' }),
    value: visit(value, sourceOf(name)),
  }));
}

const mapCookies = (cookies: readonly Cookie[], visit: TextVisitor, sourceOf: (name: string) => Source): Cookie[] =>
  cookies.map((cookie) => ({
    ...cookie,
    name: visit(cookie.name, { ...sourceOf(cookie.name), reading: 'key' }),
    value: visit(cookie.value, sourceOf(cookie.name)),
    ...(cookie.path && { path: visit(cookie.path, { ...sourceOf(cookie.name), reading: 'url' }) }),
  }));

function mapRequest(request: Request, at: At, visit: TextVisitor): Request {
  return {
    method: request.method,
    url: visit(request.url, at('url_query', 'url')),
    httpVersion: request.httpVersion,
    headers: mapHeaders(request.headers, visit, (name) => at('request_header', 'request_header', name.toLowerCase())),
    cookies: mapCookies(request.cookies, visit, (name) => at('request_cookie', 'cookie', name)),
    queryString: request.queryString.map(({ name, value }) => ({
      name: visit(name, at('url_query', 'key')),
      value: visit(value, at('url_query', 'value', name)),
    })),
    ...(request.postData && { postData: mapPostData(request.postData, at, visit) }),
    headersSize: request.headersSize,
    bodySize: request.bodySize,
  };
}

function mapPostData({ mimeType, text, params }: PostData, at: At, visit: TextVisitor): PostData {
  const fields = (params ?? []).map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value ?? '')}`).join('&');
  const body = text === undefined || text === '' ? fields : text;
  return { mimeType, text: visit(body, at('request_body', bodyReading(mimeType, body))) };
}

function mapResponse(response: Response, at: At, visit: TextVisitor): Response {
  const { text, encoding, ...content } = response.content;
  const body = textOfBody(text, encoding, content.mimeType);
  const error = (response as { _error?: unknown })._error;
  return {
    status: response.status,
    statusText: visit(response.statusText, at('response_header', 'none')),
    httpVersion: response.httpVersion,
    headers: mapHeaders(response.headers, visit, (name) => at('response_header', 'response_header', name.toLowerCase())),
    cookies: mapCookies(response.cookies, visit, (name) => at('set_cookie', 'cookie', name)),
    content: { ...content, ...(body !== null && { text: visit(body, at('response_body', bodyReading(content.mimeType, body))) }) },
    redirectURL: visit(response.redirectURL, at('response_header', 'url', 'location')),
    headersSize: response.headersSize,
    bodySize: response.bodySize,
    ...('_transferSize' in response && { _transferSize: response._transferSize }),
    ...(typeof error === 'string' && { _error: visit(error, at('other', 'text')) }),
  };
}

const textual = /^(?:text\/|image\/svg)|json|xml|javascript|ecmascript|x-www-form-urlencoded|graphql|yaml|x-ndjson|multipart\//i;

/** A body as text; null where it is binary or absent. */
function textOfBody(text: string | undefined, encoding: string | undefined, mimeType: string): string | null {
  if (text === undefined || text === '') return null;
  if (encoding !== 'base64') return text;
  return textual.test(mimeType) ? Buffer.from(text, 'base64').toString('utf8') : null;
}

function bodyReading(mimeType: string, body: string): Reading {
  const type = mimeType.toLowerCase();
  if (type.includes('css')) return 'style';
  if (type.includes('javascript') || type.includes('ecmascript')) return 'script';
  if (type.includes('html')) return 'html';
  if (type.includes('json')) return /^\s*(?:\)\]\}'|[[{"\d\w-])/.test(body.slice(0, 200)) ? 'json' : 'text';
  if (type.includes('x-www-form-urlencoded')) return 'form';
  if (type.startsWith('multipart/')) return 'multipart';
  return type.includes('xml') ? 'xml' : formatOf(body);
}
