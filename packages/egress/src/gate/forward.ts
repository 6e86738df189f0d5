/** Plain HTTP through the gate: each request on a connection is checked and routed on its own. */
import { validateHeaderName, validateHeaderValue, type IncomingMessage, type ServerResponse } from 'node:http';
import { plainHost } from '../names/addresses.ts';
import { sendPlanned, type RoutePlan } from './connections.ts';
import { EgressError, type EgressRefusal } from '../policy.ts';
import type { MachineEgress } from '../upstreams/egress-route.ts';

/**
 * The reason on the gate's own responses. It is removed from the responses of
 * plain sites, so there it is authentic; inside TLS a site may send it.
 */
export const refusalHeader = 'x-berth-egress';

/** 403 for a policy refusal, 504 for a timeout, 502 for the rest. */
export const toStatus = (reason: EgressRefusal): number => (reason === 'blocked_by_policy' ? 403 : reason === 'timeout' ? 504 : 502);

export async function forward(route: MachineEgress, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = URL.parse(request.url ?? '');
  const host = url?.protocol === 'http:' ? plainHost(url.hostname) : null;
  if (!url || host === null) {
    response.writeHead(400, { connection: 'close' }).end('Bad request\n');
    return;
  }
  const port = url.port === '' ? 80 : Number(url.port);
  const disconnect = new AbortController();
  response.once('close', () => disconnect.abort(new EgressError('connection_reset', 'the browser closed the connection')));
  try {
    const plan = await route.plan(host, port, { signal: disconnect.signal, isPlain: true });
    if (!response.destroyed) await relay(route, plan, { request, response, url, signal: disconnect.signal });
  } catch (error) {
    if (!disconnect.signal.aborted) sendRefusal(response, route.recordFailure(host, port, error));
  }
}

interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  signal: AbortSignal;
}

/** Resolves when the site's response has been passed on, rejects when there was none. */
async function relay(route: MachineEgress, plan: RoutePlan, { request, response, url, signal }: ForwardedRequest): Promise<void> {
  const isBodiless = request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined;
  const { response: incoming } = await sendPlanned(route.agent, {
    plan,
    tls: null,
    url,
    method: request.method ?? 'GET',
    headers: toSiteHeaders(request, url),
    body: isBodiless ? null : (outgoing) => void route.turns.pipeline(request, outgoing),
    idleTimeoutMs: route.limits.idleTimeoutMs,
    signal,
    onTcpSocket: () => {},
  });
  try {
    response.sendDate = false;
    // Removed, because Node adds `Connection: keep-alive` where the site sent none.
    response.removeHeader('connection');
    response.writeHead(
      incoming.statusCode ?? 502,
      toStatusText(incoming.statusMessage),
      toResponseHeaders(incoming, response.shouldKeepAlive),
    );
  } catch (cause) {
    incoming.destroy();
    throw new EgressError('connection_reset', 'the site sent a response that cannot be passed on', { cause });
  }
  // A truncated body also ends the browser's connection, so that it is not taken for complete. If nothing of it came, the head still does.
  incoming.once('close', () => incoming.readableEnded || response.flushHeaders());
  await route.turns.pipeline(incoming, response);
}

function toSiteHeaders(request: IncomingMessage, url: URL): string[] {
  const headers = filterHeaders(request.rawHeaders, (name) => name === 'host' || name === 'expect' || name === 'proxy-connection');
  const framing = request.headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
  // The host that was checked, not the client's own header.
  return ['Host', url.host, ...headers, ...framing, 'Connection', 'keep-alive'];
}

function toResponseHeaders(incoming: IncomingMessage, isPersistent: boolean): string[] {
  const headers = filterHeaders(incoming.rawHeaders, (name) => name === refusalHeader);
  // A page sees these as it would without a proxy. They say the same of both connections, except for an upgrade, which there is none of.
  // Node would keep a connection that the client wants closed for the site's `keep-alive`.
  if (!isPersistent) return headers;
  const ofConnection = ['connection', 'keep-alive'].flatMap((name) => {
    const value = incoming.headers[name];
    return typeof value === 'string' && /^[\w\s,;=-]+$/.test(value) && !/upgrade/i.test(value) ? [name, value] : [];
  });
  return [...headers, ...ofConnection];
}

const toStatusText = (text: string | undefined): string => (text ?? '').replace(/[^\t\x20-\x7e\x80-\xff]/g, '');

/** Headers that belong to one connection (RFC 9110, 7.6.1), beside those that `Connection` names. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Keeps order and spelling. `raw` alternates names and values. */
function filterHeaders(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const pairs: [string, string][] = [];
  const connectionNames = new Set<string>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2);
    pairs.push([name, value]);
    if (name.toLowerCase() === 'connection') for (const each of value.split(',')) connectionNames.add(each.trim().toLowerCase());
  }
  // Framing is not hop-by-hop, whatever `Connection` names.
  connectionNames.delete('content-length');
  return pairs.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return hopByHop.has(lower) || connectionNames.has(lower) || isDropped(lower) || !isValidHeader(name, value) ? [] : [name, value];
  });
}

/** Whether Node accepts the header. */
export function isValidHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

function sendRefusal(response: ServerResponse, reason: EgressRefusal): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = toStatus(reason) === 403 ? 'Forbidden\n' : 'Not reached\n';
  const headers = [refusalHeader, reason, 'Content-Type', 'text/plain', 'Cache-Control', 'no-store', 'Content-Length', String(text.length)];
  response.writeHead(toStatus(reason), [...headers, ...invalidHeaders]).end(text);
}

/** Headers that make the browser reject the response: with two locations it fails as from a site that it cannot reach. */
const invalidHeaders = ['Location', '/1', 'Location', '/2'];
