/** Sends a request of this worker's client to the worker that can answer it. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError, errors, type ErrorCode } from '@berth/contract';
import { hasBody } from '../../http/body/body.ts';
import type { Exchange } from '../../http/server/exchange.ts';
import { codeHeader, type ForwardedResponse, type ForwardedSocket, type ForwardTarget } from '../../http/forward/forward.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Connections, PeerReply, PeerRequest } from './connections.ts';
import { identityHeader, requestHeaders, responseHeaders } from './headers.ts';
import type { Identities } from './identity.ts';

export interface RelayDeps {
  workerId: string;
  connections: Connections;
  identities: Identities;
  clock: Clock;
}

const safeMethods = new Set(['GET', 'HEAD']);
/** WebSockets that this worker passes on, of all owners and of one: each holds two connections and what is on its way between them. */
const socketsMax = 8192;
const ownerSocketsMax = 1024;

export class Relay {
  readonly #deps: RelayDeps;
  /** Open sockets by owner. */
  readonly #sockets = new Map<string, number>();
  #socketsTotal = 0;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
  }

  async send(exchange: Exchange, target: ForwardTarget, body?: Buffer): Promise<ForwardedResponse> {
    const { request } = exchange;
    const isStreamed = body === undefined && hasBody(request);
    const headers = requestHeaders(request.rawHeaders);
    if (isStreamed && request.headers['transfer-encoding'] !== undefined) headers.push('transfer-encoding', 'chunked');
    const { response } = await this.#send(exchange, target, {
      headers: isStreamed ? headers : withLength(headers, request, body?.length ?? 0),
      // What has been read of a body cannot be sent again.
      isSafe: safeMethods.has(request.method ?? '') && !isStreamed,
      isRepeatable: !isStreamed,
      write: (sent) => {
        if (isStreamed) pass(exchange, sent);
        else sent.end(body);
      },
    });
    return toResponse(response);
  }

  async open(exchange: Exchange, target: ForwardTarget, client: Duplex): Promise<ForwardedSocket | ForwardedResponse> {
    const leave = this.#enter(exchange.principal.owner ?? exchange.principal.scope);
    client.once('close', leave);
    const headers = [...requestHeaders(exchange.request.rawHeaders), 'connection', 'Upgrade', 'upgrade', 'websocket'];
    const reply = await this.#send(exchange, target, { headers, isSafe: false, isRepeatable: true, write: (sent) => void sent.end() });
    if (!reply.upgraded) return toResponse(reply.response);
    return { headers: responseHeaders(reply.response.rawHeaders), ...reply.upgraded };
  }

  async #send(
    exchange: Exchange,
    { workerId, sessionId }: ForwardTarget,
    { headers, ...how }: { headers: string[] } & Pick<PeerRequest, 'isSafe' | 'isRepeatable' | 'write'>,
  ): Promise<PeerReply> {
    const { workerId: from, connections, identities, clock } = this.#deps;
    const { request, target, principal, requestId, origin, signal, traceparent = request.headers['traceparent'] } = exchange;
    const method = request.method ?? 'GET';
    const identity = identities.sign({ principal, requestId, origin, sessionId }, { from, to: workerId, method, target }, clock.now());
    headers.push('x-request-id', requestId, identityHeader, identity);
    if (typeof traceparent === 'string') headers.push('traceparent', traceparent);
    if (request.headers.host === undefined) headers.push('host', 'berth');
    return connections.send({ workerId, method, target, headers, signal, ...how });
  }

  /** @throws ServiceError rate_limited */
  #enter(owner: string): () => void {
    const own = this.#sockets.get(owner) ?? 0;
    if (own >= ownerSocketsMax || this.#socketsTotal >= socketsMax)
      throw new ServiceError('rate_limited', 'Too many open WebSockets. Close some, and try again.', { retryAfterSeconds: 1 });
    this.#sockets.set(owner, own + 1);
    this.#socketsTotal += 1;
    return () => {
      const left = (this.#sockets.get(owner) ?? 1) - 1;
      this.#socketsTotal -= 1;
      if (left > 0) this.#sockets.set(owner, left);
      else this.#sockets.delete(owner);
    };
  }
}

/** A request without a body says so only where it may have one. */
function withLength(headers: string[], { method = '' }: IncomingMessage, bytes: number): string[] {
  const others: string[] = [];
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() !== 'content-length') others.push(headers[at] ?? '', headers[at + 1] ?? '');
  if (bytes > 0 || !safeMethods.has(method)) others.push('content-length', String(bytes));
  return others;
}

/** Passes the body on as it comes, as fast as the other worker reads it. */
function pass({ request, response }: Exchange, sent: ClientRequest): void {
  // Who reads the body first asks for it, where the client waits for that.
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response?.writeContinue();
  request.pipe(sent);
  request.once('close', () => {
    if (!request.complete) sent.destroy(new Error('the client stopped sending'));
  });
  // The other worker has answered and reads no more. The rest is discarded.
  sent.once('close', () => {
    request.unpipe(sent);
    request.resume();
  });
}

function toResponse(response: IncomingMessage): ForwardedResponse {
  const code = response.headers[codeHeader];
  return {
    status: response.statusCode ?? 502,
    headers: responseHeaders(response.rawHeaders),
    code: typeof code === 'string' && code in errors ? (code as ErrorCode) : null,
    body: response,
  };
}
