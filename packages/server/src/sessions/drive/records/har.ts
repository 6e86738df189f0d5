/** Network traffic as HAR 1.2 without bodies, and without credentials unless they are asked for. */
import { apiVersion } from '@berth/contract';
import type { Cookie, Entry, Har, Header } from 'har-format';
import type { NetworkEntries, NetworkEntry } from '@berth/devtools';
import { isCredentialHeader } from '@berth/lib/secrets/names.ts';
import { redactHeader, redactText, redactUrl, type Redaction } from '@berth/lib/secrets/redact/redact.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { toStorableText } from '@berth/lib/text/text.ts';
import { nextTurn, TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import type { KnownSecrets } from '../../sessions/sessions.ts';

export interface HarPage {
  title: string;
  startedAt: Date;
}

const pageId = 'page_1';
const redacted = '[redacted]';

/** The share of a turn that one HAR may take. */
const turnMs = 1;

interface Traffic extends Omit<NetworkEntries, 'withoutHeaders'>, Partial<Pick<NetworkEntries, 'withoutHeaders'>> {
  /** What the session knows as secrets is replaced before anything else is. */
  secrets?: Pick<KnownSecrets, 'mask' | 'searchesAll'>;
  /** How values that may be credentials are shown; those of cookies and credential headers never are. */
  redaction?: Redaction;
}

const noSecrets: Traffic['secrets'] & {} = { mask: (value) => value, searchesAll: true };

/** All entries belong to one page, because the requesting document of each is not known. */
export async function toHar(traffic: Traffic, page: HarPage): Promise<Har> {
  const { entries, dropped, withoutHeaders = 0, secrets = noSecrets, redaction = { placeholder: redacted } } = traffic;
  const comment = [
    ...(dropped > 0 ? [`${dropped} requests were dropped.`] : []),
    ...(withoutHeaders > 0 ? [`${withoutHeaders} requests lack headers, which were dropped.`] : []),
    ...(secrets.searchesAll
      ? []
      : ['Secrets of this session are too many to be searched for; it may show some of them (secrets_not_searched).']),
  ].join(' ');
  const converted: Entry[] = [];
  const turn = new TurnBudget(turnMs);
  for (const entry of entries.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime())) {
    const parts = inParts(secrets.mask(entry), redacting(redaction));
    let part = section('har', () => parts.next());
    while (!part.done) {
      if (turn.isSpent()) await nextTurn();
      part = section('har', () => parts.next());
    }
    converted.push(part.value);
  }
  return {
    log: {
      version: '1.2',
      creator: { name: 'Berth', version: apiVersion },
      pages: [
        {
          id: pageId,
          title: redactText(secrets.mask(page.title), redaction),
          startedDateTime: page.startedAt.toISOString(),
          pageTimings: {},
        },
      ],
      entries: converted,
      ...(comment === '' ? {} : { comment }),
    },
  };
}

/** How an entry shows values that may be credentials. */
interface Shown {
  url(text: string): string;
  header(name: string, value: string): string;
  cookie(value: string): string;
}

const redacting = (redaction: Redaction): Shown => ({
  url: (text) => redactUrl(text, redaction),
  header: (name, value) => (isCredentialHeader(name) ? redacted : redactHeader(name, value, redaction)),
  cookie: () => redacted,
});
const keeping: Shown = { url: (text) => text, header: (_, value) => value, cookie: (value) => value };

/** The entry with its credentials: for a redaction that has to know their values. */
export function toHarEntry(entry: NetworkEntry): Entry {
  const parts = inParts(entry, keeping);
  let part = parts.next();
  while (!part.done) part = parts.next();
  return part.value;
}

/** Pauses after each address and header: all of an entry's together take a tenth of a second to search. */
function* inParts(entry: NetworkEntry, shown: Shown): Generator<void, Entry> {
  const timings = timingsOf(entry);
  const request = requestOf(entry, shown);
  yield;
  const response = responseOf(entry, shown);
  yield;
  return {
    pageref: pageId,
    startedDateTime: entry.startedAt.toISOString(),
    time: sumOf(timings),
    request: { ...request, headers: yield* headersOf(entry.requestHeaders, shown) },
    response: { ...response, headers: yield* headersOf(entry.responseHeaders, shown) },
    cache: {},
    timings,
    ...(entry.remoteAddress === null ? {} : { serverIPAddress: entry.remoteAddress }),
    _resourceType: resourceType(entry.resourceType),
    ...(entry.fromCache ? { _fromCache: 'disk' as const } : {}),
    ...(entry.fromServiceWorker ? { _fromServiceWorker: true } : {}),
  };
}

/** The browser's resource type in the lower case that browsers' HAR exports use. */
const resourceType = (type: string): NonNullable<Entry['_resourceType']> => type.toLowerCase() as NonNullable<Entry['_resourceType']>;

/** -1 means not applicable; the connect time includes TLS. */
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

function requestOf(entry: NetworkEntry, shown: Shown): Omit<Entry['request'], 'headers'> {
  const url = shown.url(entry.url);
  return {
    method: entry.method,
    url,
    httpVersion: httpVersion(entry.protocol),
    cookies: cookiesOf(entry.requestHeaders, shown),
    queryString: queryOf(url),
    headersSize: entry.requestBytes > 0 ? entry.requestBytes : -1,
    bodySize: -1,
  };
}

const responseOf = (entry: NetworkEntry, shown: Shown): Omit<Entry['response'], 'headers'> => ({
  status: entry.status,
  statusText: entry.statusText,
  httpVersion: httpVersion(entry.protocol),
  cookies: setCookiesOf(entry.responseHeaders, shown),
  content: { size: entry.bodyBytes, mimeType: entry.mimeType },
  redirectURL: shown.url(entry.redirectUrl),
  headersSize: -1,
  bodySize: entry.fromCache ? 0 : entry.wireBytes,
  _transferSize: entry.fromCache ? 0 : entry.wireBytes,
  ...(entry.error === null ? {} : { _error: entry.error }),
});

/** Converts the browser's names `http/1.1`, `h2` and `h3`; the name is empty without a response. */
const httpVersion = (protocol: string): string => (protocol === '' ? 'unknown' : protocol.toUpperCase().replace(/^H([23])$/, 'HTTP/$1.0'));

/** The browser joins repeated headers with line feeds. */
function* headersOf(headers: Readonly<Record<string, string>>, shown: Shown): Generator<void, Header[]> {
  const read: Header[] = [];
  for (const [name, value] of Object.entries(headers))
    for (const line of value.split('\n')) {
      read.push({ name, value: shown.header(name, line) });
      yield;
    }
  return read;
}

const valueOf = (headers: Readonly<Record<string, string>>, headerName: string): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === headerName)?.[1] ?? '';

const nameOf = (pair: string): string => pair.split('=', 1)[0]?.trim() ?? '';
const cookieValueOf = (pair: string): string => (pair.includes('=') ? pair.slice(pair.indexOf('=') + 1).trim() : '');

const cookiesOf = (headers: Readonly<Record<string, string>>, shown: Shown): Cookie[] =>
  valueOf(headers, 'cookie')
    .split(';')
    .filter((pair) => nameOf(pair) !== '')
    .map((pair) => ({ name: nameOf(pair), value: shown.cookie(cookieValueOf(pair)) }));

function setCookiesOf(headers: Readonly<Record<string, string>>, shown: Shown): Cookie[] {
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
      value: shown.cookie(cookieValueOf(line.split(';', 1)[0] ?? '')),
      httpOnly: attributes.has('httponly'),
      secure: attributes.has('secure'),
      ...(path === undefined ? {} : { path }),
      ...(domain === undefined ? {} : { domain }),
    };
  });
}

const queryOf = (url: string): Entry['request']['queryString'] =>
  // The escape `%00` is a NUL here.
  [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name: toStorableText(name), value: toStorableText(value) }));
