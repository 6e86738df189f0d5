/** Plain HTTP through the gate: each request on a connection is checked and routed on its own. */
import { request as httpRequest, validateHeaderName, validateHeaderValue } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { plainHost } from './addresses.ts';
import { toBasicCredentials } from './dial.ts';
import { EgressFailure } from './policy.ts';
import type { EgressRefusal } from './policy.ts';
import type { RoutePlan, MachineEgress } from './egress-route.ts';

/**
 * The reason on the gate's own responses. It is removed from the responses of
 * plain sites, so there it is authentic; inside TLS a site may send it.
 */
export const refusalHeader = 'x-berth-egress';

/** Of request and response heads. Browsers accept more than Node's 16 KiB, and sites with many cookies need it. */
export const headBytesMax = 65_536;

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
  response.once('close', () => disconnect.abort(new EgressFailure('connection_reset', 'the browser closed the connection')));
  try {
    const plan = await route.plan(host, port, { signal: disconnect.signal, isPlain: true });
    if (!response.destroyed) await relay(route, plan, { request, response, url });
  } catch (error) {
    if (!disconnect.signal.aborted) sendRefusal(response, route.recordFailure(host, port, error));
  }
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
}

/** Resolves when the site's response has been passed on, rejects when there was none. */
async function relay(route: MachineEgress, plan: RoutePlan, exchange: Exchange): Promise<void> {
  const isBodiless =
    exchange.request.headers['content-length'] === undefined && exchange.request.headers['transfer-encoding'] === undefined;
  for (let attempt = 1; ; attempt += 1) {
    const outgoing = sendRequest(route, plan, exchange);
    if (isBodiless) outgoing.end();
    else pipeline(exchange.request, outgoing, () => {});
    try {
      await relayResponse(route, outgoing, exchange.response);
      return;
    } catch (error) {
      outgoing.destroy();
      // The site may close a reused connection just as it is taken. Idempotent requests are sent again (RFC 9110, 9.2.2).
      const canRetry =
        isBodiless && outgoing.reusedSocket && attempt <= 5 && ['GET', 'HEAD', 'OPTIONS'].includes(exchange.request.method ?? '');
      if (!canRetry || exchange.response.headersSent || exchange.response.destroyed) throw error;
    }
  }
}

function sendRequest(route: MachineEgress, plan: RoutePlan, { request, response, url }: Exchange): ClientRequest {
  const headers = filterHeaders(request.rawHeaders, (name) => name === 'host' || name === 'expect' || name === 'proxy-connection');
  // The host that was checked, not the client's own header.
  headers.unshift('Host', url.host);
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  const credentials = plan.usesAbsoluteForm && plan.proxy ? toBasicCredentials(plan.proxy.upstream) : null;
  if (credentials !== null) headers.push('Proxy-Authorization', credentials);
  headers.push('Connection', 'keep-alive');
  const path = `${url.pathname}${url.search}`;
  const options: RequestOptions & { plan: RoutePlan } = {
    method: request.method ?? 'GET',
    path: plan.usesAbsoluteForm ? `http://${url.host}${path}` : path,
    headers,
    agent: route.agent,
    plan,
    maxHeaderSize: headBytesMax,
    // Browsers accept malformed responses, so the gate does; each goes to one request only.
    insecureHTTPParser: true,
  };
  const outgoing = httpRequest(options);
  outgoing.setTimeout(route.limits.idleTimeoutMs, () =>
    outgoing.destroy(new EgressFailure('timeout', `no data for ${route.limits.idleTimeoutMs} ms`)),
  );
  response.once('close', () => outgoing.destroy());
  return outgoing;
}

function relayResponse(route: MachineEgress, outgoing: ClientRequest, response: ServerResponse): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  outgoing.on('error', reject);
  // The agent sets the timeout of idle sockets, which is too short for a response.
  outgoing.once('socket', (socket) => socket.setTimeout(route.limits.idleTimeoutMs));
  const onClose = (): void => reject(new EgressFailure('connection_reset', 'the site closed the connection without a reply'));
  outgoing.once('response', (incoming) => {
    // The site may close before the browser has read everything.
    outgoing.off('close', onClose);
    try {
      response.sendDate = false;
      response.writeHead(incoming.statusCode ?? 502, toStatusText(incoming.statusMessage), toResponseHeaders(incoming));
    } catch (cause) {
      incoming.destroy();
      reject(new EgressFailure('connection_reset', 'the site sent a response that cannot be passed on', { cause }));
      return;
    }
    // A truncated body also ends the browser's connection, so that it is not taken for complete.
    pipeline(incoming, response, () => resolve());
  });
  outgoing.once('close', onClose);
  return promise;
}

/** Content-Length beside Transfer-Encoding is dropped: request smuggling (RFC 9112, 6.3). */
function toResponseHeaders(incoming: IncomingMessage): string[] {
  const isChunked = incoming.headers['transfer-encoding'] !== undefined;
  return filterHeaders(incoming.rawHeaders, (name) => name === refusalHeader || (isChunked && name === 'content-length'));
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
  response
    .writeHead(toStatus(reason), {
      [refusalHeader]: reason,
      'content-type': 'text/plain',
      'cache-control': 'no-store',
      'content-length': text.length,
    })
    .end(text);
}
