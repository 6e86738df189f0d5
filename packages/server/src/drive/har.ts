/** Network traffic as HAR 1.2, without bodies and without what opens doors. */
import { apiVersion } from '@berth/contract';
import type { Cookie, Entry, Har, Header } from 'har-format';
import type { NetworkEntries, NetworkEntry } from '../browser/browser.ts';

export interface HarPage {
  title: string;
  startedAt: Date;
}

const pageId = 'page_1';
const redacted = '[redacted]';
/** Headers that a site takes as a proof of who asks, by what their names say. */
const secretHeader = /cookie|auth|api-?key|access-?key|token|secret|passw|credential|signature|session/i;
/** Of those, the names that are no secret at all. */
const openHeader = /^(:authority|www-authenticate|proxy-authenticate|access-control-.*|sec-.*)$/i;

/** All entries belong to one page: which of its documents asked is not known of each. */
export const toHar = ({ entries, dropped }: NetworkEntries, page: HarPage): Har => ({
  log: {
    version: '1.2',
    creator: { name: 'Berth', version: apiVersion },
    pages: [{ id: pageId, title: withoutCredentials(page.title), startedDateTime: page.startedAt.toISOString(), pageTimings: {} }],
    entries: entries.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime()).map(toEntry),
    ...(dropped > 0 ? { comment: `${dropped} requests were not kept.` } : {}),
  },
});

function toEntry(entry: NetworkEntry): Entry {
  const timings = timingsOf(entry);
  return {
    pageref: pageId,
    startedDateTime: entry.startedAt.toISOString(),
    time: sumOf(timings),
    request: requestOf(entry),
    response: responseOf(entry),
    cache: {},
    timings,
    ...(entry.remoteAddress === null ? {} : { serverIPAddress: entry.remoteAddress }),
    _resourceType: resourceType(entry.resourceType),
    ...(entry.fromCache ? { _fromCache: 'disk' as const } : {}),
    ...(entry.fromServiceWorker ? { _fromServiceWorker: true } : {}),
  };
}

/** The browser's own word, in the spelling of HAR files that browsers save. */
const resourceType = (type: string): NonNullable<Entry['_resourceType']> => type.toLowerCase() as NonNullable<Entry['_resourceType']>;

/** -1 says that a part does not apply; the time to connect holds that of TLS. */
function timingsOf({ timings }: NetworkEntry): Entry['timings'] {
  const rounded = (ms: number): number => (ms < 0 ? -1 : Math.round(ms * 1000) / 1000);
  return {
    blocked: rounded(timings.blockedMs),
    dns: rounded(timings.dnsMs),
    connect: rounded(timings.connectMs),
    ssl: rounded(timings.sslMs),
    send: Math.max(0, rounded(timings.sendMs)),
    wait: Math.max(0, rounded(timings.waitMs)),
    receive: Math.max(0, rounded(timings.receiveMs)),
  };
}

function sumOf({ blocked = -1, dns = -1, connect = -1, send = 0, wait, receive }: Entry['timings']): number {
  const sum = [blocked, dns, connect, send, wait, receive].reduce((all, ms) => all + Math.max(0, ms), 0);
  return Math.round(sum * 1000) / 1000;
}

const requestOf = (entry: NetworkEntry): Entry['request'] => ({
  method: entry.method,
  url: withoutCredentials(entry.url),
  httpVersion: httpVersion(entry.protocol),
  cookies: cookiesOf(entry.requestHeaders),
  headers: headersOf(entry.requestHeaders),
  queryString: queryOf(entry.url),
  headersSize: entry.requestBytes > 0 ? entry.requestBytes : -1,
  bodySize: -1,
});

const responseOf = (entry: NetworkEntry): Entry['response'] => ({
  status: entry.status,
  statusText: entry.statusText,
  httpVersion: httpVersion(entry.protocol),
  cookies: setCookiesOf(entry.responseHeaders),
  headers: headersOf(entry.responseHeaders),
  content: { size: entry.bodyBytes, mimeType: entry.mimeType },
  redirectURL: withoutCredentials(entry.redirectUrl),
  headersSize: -1,
  bodySize: entry.fromCache ? 0 : entry.wireBytes,
  _transferSize: entry.fromCache ? 0 : entry.wireBytes,
  ...(entry.error === null ? {} : { _error: entry.error }),
});

/** As the browser names protocols: `http/1.1`, `h2`, `h3`; nothing where no answer came. */
const httpVersion = (protocol: string): string => (protocol === '' ? 'unknown' : protocol.toUpperCase().replace(/^H([23])$/, 'HTTP/$1.0'));

/** A header that came several times stands in several lines of one value. */
const headersOf = (headers: Readonly<Record<string, string>>): Header[] =>
  Object.entries(headers).flatMap(([name, value]) => value.split('\n').map((line) => ({ name, value: shown(name, line) })));

function shown(name: string, value: string): string {
  if (secretHeader.test(name) && !openHeader.test(name)) return redacted;
  return /^(referer|location|content-location|refresh|origin)$/i.test(name) ? withoutCredentials(value) : value;
}

const valueOf = (headers: Readonly<Record<string, string>>, wanted: string): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';

const nameOf = (pair: string): string => pair.split('=', 1)[0]?.trim() ?? '';

const cookiesOf = (headers: Readonly<Record<string, string>>): Cookie[] =>
  valueOf(headers, 'cookie')
    .split(';')
    .map(nameOf)
    .filter((name) => name !== '')
    .map((name) => ({ name, value: redacted }));

function setCookiesOf(headers: Readonly<Record<string, string>>): Cookie[] {
  const lines = valueOf(headers, 'set-cookie').split('\n').filter(Boolean);
  return lines.map((line) => {
    const attributes = new Map(
      line
        .split(';')
        .slice(1)
        .map((part) => [nameOf(part).toLowerCase(), part.slice(part.indexOf('=') + 1).trim()]),
    );
    const [path, domain] = [attributes.get('path'), attributes.get('domain')];
    return {
      name: nameOf(line),
      value: redacted,
      httpOnly: attributes.has('httponly'),
      secure: attributes.has('secure'),
      ...(path === undefined ? {} : { path }),
      ...(domain === undefined ? {} : { domain }),
    };
  });
}

const queryOf = (url: string): Entry['request']['queryString'] =>
  [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name, value }));

/** `https://user:password@host/` without the first half. */
const withoutCredentials = (text: string): string => text.replace(/\b(\w+:\/\/)[^/?#\s]*@/g, '$1');
