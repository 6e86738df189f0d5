/** Plain HTTP through the gate: each request on a connection is routed on its own. */
import { request as httpRequest, validateHeaderName, validateHeaderValue } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { plainHost } from './addresses.ts';
import { basicCredentials } from './dial.ts';
import { EgressFailure } from './policy.ts';
import type { EgressRefusal } from './policy.ts';
import type { Route, Way } from './way.ts';

/**
 * Carries the reason on the gate's own answers. It is taken off everything
 * that comes from plain sites, so there it is proof; inside TLS a site may send what it likes.
 */
export const refusalHeader = 'x-berth-egress';

/** Request and reply heads: browsers take more than Node's 16 KiB, sites with many cookies send it. */
export const headBytesMax = 65_536;

/** 403 for what may not be, 504 for what did not come, 502 for the rest. */
export const statusOf = (reason: EgressRefusal): number => (reason === 'blocked_by_policy' ? 403 : reason === 'timeout' ? 504 : 502);

export async function forward(way: Way, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = URL.parse(request.url ?? '');
  const host = url?.protocol === 'http:' ? plainHost(url.hostname) : null;
  if (!url || host === null) {
    response.writeHead(400, { connection: 'close' }).end('Bad request\n');
    return;
  }
  const port = url.port === '' ? 80 : Number(url.port);
  const gone = new AbortController();
  response.once('close', () => gone.abort(new EgressFailure('connection_reset', 'the browser went away')));
  try {
    const route = await way.route(host, port, { signal: gone.signal, plain: true });
    if (!response.destroyed) await pass(way, route, { request, response, url });
  } catch (error) {
    if (!gone.signal.aborted) answerFailure(response, way.note(host, port, error));
  }
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
}

/** Resolves when the site's reply has been passed on, rejects when there was none to pass on. */
async function pass(way: Way, route: Route, exchange: Exchange): Promise<void> {
  const bodiless = exchange.request.headers['content-length'] === undefined && exchange.request.headers['transfer-encoding'] === undefined;
  for (let attempt = 1; ; attempt += 1) {
    const outgoing = ask(way, route, exchange);
    if (bodiless) outgoing.end();
    else pipeline(exchange.request, outgoing, () => {});
    try {
      await reply(way, outgoing, exchange.response);
      return;
    } catch (error) {
      outgoing.destroy();
      // A kept connection may have been closed by the site just as it was taken: nothing was answered, so asking anew is safe where repeating is.
      const repeats =
        bodiless && outgoing.reusedSocket && attempt <= 5 && ['GET', 'HEAD', 'OPTIONS'].includes(exchange.request.method ?? '');
      if (!repeats || exchange.response.headersSent || exchange.response.destroyed) throw error;
    }
  }
}

function ask(way: Way, route: Route, { request, response, url }: Exchange): ClientRequest {
  const headers = forwardable(request.rawHeaders, (name) => name === 'host' || name === 'expect' || name === 'proxy-connection');
  // The name that was checked, not the one a hostile client wrote beside it.
  headers.unshift('Host', url.host);
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  const credentials = route.absoluteForm && route.via ? basicCredentials(route.via.upstream) : null;
  if (credentials !== null) headers.push('Proxy-Authorization', credentials);
  headers.push('Connection', 'keep-alive');
  const path = `${url.pathname}${url.search}`;
  const options: RequestOptions & { route: Route } = {
    method: request.method ?? 'GET',
    path: route.absoluteForm ? `http://${url.host}${path}` : path,
    headers,
    agent: way.agent,
    route,
    maxHeaderSize: headBytesMax,
    // Browsers take sloppy replies, so the gate does; a reply goes to the one request that asked.
    insecureHTTPParser: true,
  };
  const outgoing = httpRequest(options);
  outgoing.setTimeout(way.limits.idleMs, () => outgoing.destroy(new EgressFailure('timeout', `nothing came for ${way.limits.idleMs} ms`)));
  response.once('close', () => outgoing.destroy());
  return outgoing;
}

function reply(way: Way, outgoing: ClientRequest, response: ServerResponse): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  outgoing.on('error', reject);
  // The agent's sockets have the timeout of idle ones, which is far too short for a reply.
  outgoing.once('socket', (socket) => socket.setTimeout(way.limits.idleMs));
  const onClose = (): void => reject(new EgressFailure('connection_reset', 'the site closed the connection without a reply'));
  outgoing.once('response', (incoming) => {
    // Whole on our side, a reply may still be on its way to the browser.
    outgoing.off('close', onClose);
    try {
      response.sendDate = false;
      response.writeHead(incoming.statusCode ?? 502, sayable(incoming.statusMessage), replyHeaders(incoming));
    } catch (cause) {
      incoming.destroy();
      reject(new EgressFailure('connection_reset', 'the site sent a reply that cannot be passed on', { cause }));
      return;
    }
    // A body cut short ends the browser's connection too, so that it does not pass for whole.
    pipeline(incoming, response, () => resolve());
  });
  outgoing.once('close', onClose);
  return promise;
}

/** A length beside chunks is a lie that would cut the connection at the wrong place. */
function replyHeaders(incoming: IncomingMessage): string[] {
  const chunked = incoming.headers['transfer-encoding'] !== undefined;
  return forwardable(incoming.rawHeaders, (name) => name === refusalHeader || (chunked && name === 'content-length'));
}

const sayable = (text: string | undefined): string => (text ?? '').replace(/[^\t\x20-\x7e\x80-\xff]/g, '');

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

/** Raw headers, names and values in turn, in their order and spelling. */
function forwardable(raw: readonly string[], drops: (name: string) => boolean): string[] {
  const pairs: [string, string][] = [];
  const named = new Set<string>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2);
    pairs.push([name, value]);
    if (name.toLowerCase() === 'connection') for (const each of value.split(',')) named.add(each.trim().toLowerCase());
  }
  // What frames the body is no connection's own, whatever `Connection` says.
  named.delete('content-length');
  return pairs.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return hopByHop.has(lower) || named.has(lower) || drops(lower) || !isValidHeader(name, value) ? [] : [name, value];
  });
}

/** Whether Node would send it. */
export function isValidHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

function answerFailure(response: ServerResponse, reason: EgressRefusal): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = statusOf(reason) === 403 ? 'Forbidden\n' : 'Not reached\n';
  response
    .writeHead(statusOf(reason), {
      [refusalHeader]: reason,
      'content-type': 'text/plain',
      'cache-control': 'no-store',
      'content-length': text.length,
    })
    .end(text);
}
