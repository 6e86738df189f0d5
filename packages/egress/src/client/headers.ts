/** The headers of a request: the caller's, less what frames a message or belongs to a connection, and the usual ones. */
import type { IncomingMessage } from 'node:http';
import { isCredentialHeader } from '@berth/lib/secrets/names.ts';
import { decodeComponent, toBasicCredentials } from '../gate/dial.ts';
import { isValidHeader, refusalHeader } from '../gate/forward.ts';

/** The caller's headers by lower-case name, with the spelling that is sent. */
export type CallerHeaders = ReadonlyMap<string, readonly [name: string, value: string]>;

/** Headers that this client alone sets: the checked host, the body's length, the use of the connection, the proxy's password. */
const ownNames = new Set([
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
  'http2-settings',
  refusalHeader,
]);

/** Headers that a caller may send, and the names of those that were left out. */
export function callerHeaders(headers: Readonly<Record<string, string>>): { forwarded: CallerHeaders; dropped: string[] } {
  const forwarded = new Map<string, readonly [string, string]>();
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (ownNames.has(lower) || lower.startsWith('proxy-') || !isValidHeader(name, value)) dropped.push(lower);
    else forwarded.set(lower, [name, value]);
  }
  return { forwarded, dropped };
}

const describesBody = (name: string): boolean => name.startsWith('content-');

export const withoutCredentialHeaders = (headers: CallerHeaders): CallerHeaders => without(headers, isCredentialHeader);
export const withoutBodyHeaders = (headers: CallerHeaders): CallerHeaders => without(headers, describesBody);

const without = (headers: CallerHeaders, drops: (name: string) => boolean): CallerHeaders =>
  new Map([...headers].filter(([name]) => !drops(name)));

export interface OutgoingHeaderOptions {
  url: URL;
  method: string;
  headers: CallerHeaders;
  body: Buffer | null;
  /** The `Cookie` header from the jar. */
  cookie: string;
  /** The headers that are sent where the caller's do not set them. */
  defaultHeaders: Readonly<Record<string, string>>;
}

/** Names and values in turn, as they go out. */
export function outgoingHeaders({ url, method, headers, body, cookie, defaultHeaders }: OutgoingHeaderOptions): string[] {
  const lines: [string, string][] = [
    ['Host', url.host],
    ['Connection', 'keep-alive'],
  ];
  for (const [name, value] of Object.entries(defaultHeaders)) if (!headers.has(name.toLowerCase())) lines.push([name, value]);
  for (const [lower, line] of headers) if (lower !== 'cookie') lines.push([...line]);
  const cookies = [headers.get('cookie')?.[1] ?? '', cookie].filter((part) => part !== '');
  if (cookies.length > 0) lines.push(['Cookie', cookies.join('; ')]);
  const credentials = toBasicCredentials({ username: decodeComponent(url.username), password: decodeComponent(url.password) });
  if (!headers.has('authorization') && credentials !== null) lines.push(['Authorization', credentials]);
  if (body !== null || ['POST', 'PUT', 'PATCH'].includes(method)) lines.push(['Content-Length', String(body?.length ?? 0)]);
  return lines.flat();
}

/** A reply's headers by lower-case name, repeated ones joined; what the gate alone may say and cookies are left out. */
export function replyHeaders(response: IncomingMessage): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs(response)) {
    if (name === 'set-cookie' || name === refusalHeader) continue;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}

/** The first header of a name that says something; null when none does. */
export const firstHeader = (response: IncomingMessage, wanted: string): string | null =>
  pairs(response).find(([name, value]) => name === wanted && value !== '')?.[1] ?? null;

/** The last one that is a type, as browsers take it; else the first that says something. */
export const contentTypeOf = (response: IncomingMessage): string | null =>
  pairs(response).findLast(([name, value]) => name === 'content-type' && value.includes('/'))?.[1] ?? firstHeader(response, 'content-type');

function pairs({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  return Array.from({ length: rawHeaders.length >> 1 }, (_, at) => [
    (rawHeaders[2 * at] ?? '').toLowerCase(),
    rawHeaders[2 * at + 1] ?? '',
  ]);
}
