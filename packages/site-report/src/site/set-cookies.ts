/** Cookies that responses set, and cookies that requests send: names and attributes, never values. */
import { domainMatch } from 'tough-cookie';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { captureStartMs, oncePerReport } from '../page/pages.ts';

export interface SeenCookie {
  name: string;
  domain: string;
  path: string;
  httpOnly: boolean;
  secure: boolean;
  sameSite: 'strict' | 'lax' | 'none' | null;
  isPartitioned: boolean;
  /** Seconds from the start of the capture; null for a session cookie. */
  lifetimeSeconds: number | null;
  size: number;
  /** The first response that set it. */
  setBy: CapturedExchange | null;
}

const cookiesMax = 1000;
const attributesMax = 20;

/** One cookie for each name, domain and path: those of the browser at the end, then those that only responses show. */
export const readCookies = oncePerReport(collectCookies);

function collectCookies(input: ReportInput): SeenCookie[] {
  const startSeconds = captureStartMs(input) / 1000;
  const cookies = new Map<string, SeenCookie>();
  const set = input.exchanges.flatMap((exchange) => setCookiesOf(exchange, startSeconds));
  const setters = new Map<string, SeenCookie[]>();
  for (const cookie of set) setters.set(cookie.name, [...(setters.get(cookie.name) ?? []).slice(0, 49), cookie]);
  for (const cookie of input.capture.cookies.slice(0, cookiesMax)) {
    const { name, value, domain, path, expires, httpOnly, secure, sameSite, isPartitioned } = cookie;
    const setBy = setters.get(name)?.find((other) => bareDomain(other.domain) === bareDomain(domain))?.setBy ?? null;
    cookies.set(keyOf(cookie), {
      ...{ name, domain, path, httpOnly, secure, isPartitioned, setBy },
      sameSite: sameSite === null ? null : (sameSite.toLowerCase() as 'strict' | 'lax' | 'none'),
      lifetimeSeconds: expires === null ? null : Math.max(0, Math.round(expires - startSeconds)),
      size: name.length + sizeOf(value, input),
    });
  }
  for (const cookie of set) {
    const key = keyOf(cookie);
    if (!cookies.has(key) && cookies.size < cookiesMax && cookie.lifetimeSeconds !== 0) cookies.set(key, cookie);
  }
  return [...cookies.values()];
}

const bareDomain = (domain: string): string => domain.replace(/^\./, '').toLowerCase();
const keyOf = ({ name, domain, path }: { name: string; domain: string; path: string }): string => `${name};${bareDomain(domain)};${path}`;

/** Size of the value before it was redacted, where that is known. */
const sizeOf = (value: string, { secrets }: ReportInput): number =>
  secrets.find(({ placeholder }) => placeholder === value)?.length ?? value.length;

function setCookiesOf(exchange: CapturedExchange, startSeconds: number): SeenCookie[] {
  const header = exchange.responseHeaders.get('set-cookie');
  if (header === undefined) return [];
  return header
    .split('\n')
    .slice(0, 50)
    .flatMap((line) => parseSetCookie(line, exchange, startSeconds) ?? []);
}

function parseSetCookie(line: string, exchange: CapturedExchange, startSeconds: number): SeenCookie | null {
  const [pair = '', ...rest] = line.split(';', attributesMax);
  const equals = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, equals)).trim();
  if (name === '') return null;
  const attributes = new Map(rest.map(readAttribute));
  const sameSite = attributes.get('samesite')?.toLowerCase();
  return {
    name,
    domain: attributes.get('domain')?.toLowerCase() || exchange.url.hostname,
    path: attributes.get('path') || '/',
    httpOnly: attributes.has('httponly'),
    secure: attributes.has('secure'),
    sameSite: sameSite === 'strict' || sameSite === 'lax' || sameSite === 'none' ? sameSite : null,
    isPartitioned: attributes.has('partitioned'),
    lifetimeSeconds: lifetimeOf(attributes, exchange, startSeconds),
    size: pair.trim().length,
    setBy: exchange,
  };
}

function readAttribute(part: string): [string, string] {
  const equals = part.indexOf('=');
  return equals === -1 ? [part.trim().toLowerCase(), ''] : [part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim()];
}

function lifetimeOf(attributes: ReadonlyMap<string, string>, { startedMs }: CapturedExchange, startSeconds: number): number | null {
  const maxAge = Number.parseInt(attributes.get('max-age') ?? '', 10);
  if (!Number.isNaN(maxAge)) return Math.max(0, maxAge);
  const expires = Date.parse(attributes.get('expires') ?? '');
  return Number.isNaN(expires) ? null : Math.max(0, Math.round(expires / 1000 - startSeconds - startedMs / 1000));
}

/** Names of the cookies that a response sets. */
export const setCookieNames = (exchange: CapturedExchange): string[] => setCookiesOf(exchange, 0).map(({ name }) => name);

/** Names of the cookies that a request sends. */
export function sentCookies({ requestHeaders, entry }: CapturedExchange): string[] {
  const header = requestHeaders.get('cookie');
  if (header === undefined) return entry.request.cookies.slice(0, 300).map(({ name }) => name);
  const names = header.split(';', 300).map((pair) => pair.slice(0, Math.max(0, pair.indexOf('='))).trim());
  return names.filter((name) => name !== '');
}

export const isSentTo = ({ domain }: SeenCookie, hostname: string): boolean => domainMatch(hostname, bareDomain(domain), false) === true;
