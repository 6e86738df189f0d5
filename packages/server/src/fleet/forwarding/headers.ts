/** Headers of what passes between workers. */

/** Headers of the connection between two parties, not of the message (RFC 9110, section 7.6.1). */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** Credentials are checked by the worker that the client reached, and go no further. What proxies said is part of the origin. */
const edgeOnly = [
  'authorization',
  'cookie',
  'x-admin-key',
  'expect',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
];
const requestDropped = new Set([...hopByHop, ...edgeOnly, 'x-request-id', 'traceparent']);
const responseDropped = new Set([...hopByHop, 'traceparent']);
/** Only the fleet itself sets these. */
const fleetPrefix = 'x-berth-';

export const identityHeader = 'x-berth-identity';

/** Names and values in turn, as Node lists them. */
type RawHeaders = readonly string[];

export const requestHeaders = (raw: RawHeaders): string[] => without(raw, requestDropped);
export const responseHeaders = (raw: RawHeaders): string[] => without(raw, responseDropped);

function without(raw: RawHeaders, dropped: ReadonlySet<string>): string[] {
  const named = namedByConnection(raw);
  const headers: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    if (dropped.has(name) || name.startsWith(fleetPrefix) || named.has(name)) continue;
    headers.push(raw[at] ?? '', raw[at + 1] ?? '');
  }
  return headers;
}

/** Nobody can make these part of the connection: what they mean must not be lost on the way. */
const neverNamed = new Set(['content-length', 'content-type', 'content-encoding', 'host', 'idempotency-key', 'origin']);

function namedByConnection(raw: RawHeaders): Set<string> {
  const named = new Set<string>();
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.toLowerCase() === 'connection') for (const name of (raw[at + 1] ?? '').split(',')) named.add(name.trim().toLowerCase());
  for (const name of neverNamed) named.delete(name);
  return named;
}
