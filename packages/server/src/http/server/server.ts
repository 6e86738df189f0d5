import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { acceptsIdempotencyKey, acceptsLinks, ServiceError, type Endpoint } from '@berth/contract';
import { negotiate } from '@fastify/accept-negotiator';
import { newId } from '@berth/lib/ids.ts';
import { toJsonText } from '@berth/lib/json/text.ts';
import { runFor } from '@berth/lib/turns/sections.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import { Admission, countHeader } from '../limits/admission.ts';
import { hasBody } from '../body/body.ts';
import type { Call, EventsHandler, ForwardedCall, FileHandler, Handler, ResponseHandler, ServerEvent, SocketHandler } from '../call.ts';
import { Compressed } from '../body/compressed.ts';
import { prefersHtml } from '../error-page.ts';
import { clientClosedRequestStatus, logFailure, outcomeOf, toErrorPage, toErrorResponse, type HttpResponse } from '../errors.ts';
import { ClientDisconnectedError, Exchange } from './exchange.ts';
import { workerHeaders, type ForwardTarget } from '../forward/forward.ts';
import { Idempotency } from '../limits/idempotency.ts';
import { LargeBodies } from '../body/large-bodies.ts';
import { connectionPair, fetchOver, type InnerCall } from '../inner.ts';
import type { Asset, Http, HttpOptions } from '../options.ts';
import { OtherWorkers } from '../forward/other-workers.ts';
import { Peers } from './peer.ts';
import type { BoundPort } from './port.ts';
import { parserError, refuse, urlTooLong, type ParserError } from '../refusal.ts';
import { resolveSessionNames } from '../forward/session-names.ts';
import { eventStream, fileStream, readRangeHeader, responseStream, type FileReply, type Stream } from './stream.ts';
import { Router } from './router.ts';
import { Upgrades, type SocketRoute } from './upgrade.ts';
import { validate, type Bodies, type RawRequest } from '../body/validate.ts';

export { defaultLimits } from '../options.ts';
export type { CompletedRequest, Asset, Http, HttpLimits, HttpOptions } from '../options.ts';

export const createHttp = (options: HttpOptions): Http => new RoutedHttp(options);

type LooseHandler = (call: Call) => unknown;
const noBody = Buffer.alloc(0);
/** A refused client may go on sending its body for this long before the connection is closed. */
const unreadBodyGraceMs = 2000;
/** Time for aborted requests to respond. */
const abortGraceMs = 1000;
/** Longer than load balancers keep an idle connection: one that ended it first would send a request into a closed one. */
const keepAliveMs = 72_000;

type Serve = (context: RequestContext) => Promise<void>;

interface RequestContext {
  exchange: Exchange;
  request: IncomingMessage;
  response: ServerResponse;
  raw: RawRequest;
}

interface Route {
  serve: Serve;
  socket?: SocketRoute;
}

/** What is sent: a file as it is, a reply of the API with an end of line. */
type Sent = Omit<HttpResponse, 'body'> & { body: Buffer | string };

class RoutedHttp implements Http {
  readonly mounted = new Set<string>();
  readonly #options: HttpOptions;
  readonly #server: Server;
  readonly #router: Router<Route>;
  readonly #peers: Peers;
  readonly #admission: Admission;
  readonly #idempotency: Idempotency;
  readonly #upgrades: Upgrades;
  readonly #others: OtherWorkers;
  readonly #compressed = new Compressed();
  readonly #bodies: Bodies;
  readonly #active = new Set<Exchange>();
  /** Requests that other workers have admitted. */
  readonly #forwarded = new WeakMap<IncomingMessage, ForwardedCall>();
  /** Connections of the service to itself. */
  readonly #inner = new WeakMap<Duplex, InnerCall>();
  readonly #malformed = new WeakSet<Socket>();
  #onIdle: (() => void) | undefined;
  #port: BoundPort | undefined;
  #isClosing = false;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#peers = new Peers(options.trustedProxies, options.publicUrl);
    this.#admission = new Admission({ ...options, peers: this.#peers });
    this.#idempotency = new Idempotency(options);
    const { bodyBytesMax: bytesMax, requestTimeoutMs: timeoutMs } = options.limits;
    this.#bodies = { limits: { bytesMax, timeoutMs }, large: new LargeBodies(options.log) };
    this.#others = new OtherWorkers({ ...options, originOf: (exchange) => this.#originOf(exchange) });
    // The router would not find a path with a longer parameter.
    this.#router = new Router(options.limits.headerBytesMax);
    this.#upgrades = new Upgrades({
      log: options.log,
      onCompleted: options.onCompleted,
      open: (request) => this.#openExchange(request, null),
      find: (exchange) => this.#find(exchange),
      admit: (endpoint, exchange, raw) => this.#admit(endpoint, exchange, raw),
      others: this.#others,
      originOf: (exchange) => this.#originOf(exchange),
      forwarder: options.forwarder,
      sessionIdOf: options.sessionIdOf,
      defaultDeadlineMs: options.limits.deadlineMs,
      socketLimits: options.limits.sockets,
      onEmpty: () => this.#onIdle?.(),
    });
    this.#server = this.#createServer();
  }

  #createServer(): Server {
    const { limits } = this.#options;
    const settings = {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.requestTimeoutMs,
      // Only for what precedes the body, which has its own timeout with a better error.
      requestTimeout: limits.requestTimeoutMs * 2,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 1000,
      // A missing Host header is refused by #check, with an error body.
      requireHostHeader: false,
      // Clients that offer HTTP/2 on an ordinary request get an HTTP/1.1 response.
      shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === 'websocket',
    };
    const handle = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);
    const server = this.#options.tls?.createServer(settings, handle) ?? createServer(settings, handle);
    server.on('upgrade', (request, socket, head) => this.#afterReplies(socket, () => void this.#upgrades.handle(request, socket, head)));
    server.on('checkContinue', handle).on('checkExpectation', handle);
    server.on('clientError', (error: ParserError, socket) => this.#rejectMalformed(error, socket as Socket));
    server.on('connect', (request, socket) => {
      socket.on('error', () => socket.destroy());
      const error = new ServiceError('not_implemented', 'This service is not a proxy: CONNECT is not supported.');
      this.#afterReplies(socket, () => refuse(socket, error, requestIdOf(request)));
    });
    return server;
  }

  on<E extends Endpoint>(endpoint: E, handler: Handler<E>): void {
    const loose = handler as unknown as LooseHandler;
    this.#mount(endpoint, (context) => this.#serve(endpoint, loose, context));
  }

  onFile<E extends Endpoint>(endpoint: E, handler: FileHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<FileReply> | FileReply;
    this.#mount(endpoint, (context) =>
      this.#serveStream(endpoint, context, async () => fileStream(await loose(context.exchange), readRangeHeader(context.request))),
    );
  }

  onEvents<E extends Endpoint>(endpoint: E, handler: EventsHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<AsyncIterable<ServerEvent>> | AsyncIterable<ServerEvent>;
    this.#mount(endpoint, (context) => {
      context.exchange.isEndless = true;
      return this.#serveStream(endpoint, context, async () => eventStream(await loose(context.exchange), this.#options.limits.keepAliveMs));
    });
  }

  onSocket<E extends Endpoint>(endpoint: E, handler: SocketHandler<E>): void {
    const plain = (): never => {
      throw new ServiceError('bad_request', 'This endpoint is a WebSocket. Send `Connection: Upgrade` and `Upgrade: websocket`.');
    };
    this.#mount(endpoint, plain, { endpoint, handler: handler as unknown as SocketRoute['handler'] });
  }

  onResponse<E extends Endpoint>(endpoint: E, handler: ResponseHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<Response> | Response;
    const serve: Serve = (context) => this.#serveStream(endpoint, context, async () => responseStream(await loose(context.exchange)));
    this.#addRoute(endpoint, serve);
  }

  asset(path: string, asset: Asset, endpoint?: Endpoint): void {
    if (endpoint) this.mounted.add(endpoint.id);
    this.#router.add('GET', path, { serve: ({ exchange, request }) => this.#serveAsset(asset, exchange, request) });
  }

  async #serveAsset(asset: Asset, exchange: Exchange, request: IncomingMessage): Promise<void> {
    const headers = { 'content-type': asset.contentType, ...asset.headers };
    const { target } = exchange;
    const query = new URLSearchParams(target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');
    const load = (): ReturnType<Asset['load']> => asset.load(this.#peers.origin(request), query);
    if (asset.isCompressed) {
      const compressed = await this.#compressed.reply(await load(), request.headers);
      return this.#send(exchange, { ...compressed, headers: { ...headers, ...compressed.headers } });
    }
    const { encodings } = asset;
    if (!encodings) return this.#send(exchange, { status: 200, headers, body: await load() });
    const encoding = negotiate(request.headers['accept-encoding'] ?? '', [...encodings.keys()]) ?? '';
    const encoded = encodings.get(encoding);
    const varying = { ...headers, vary: 'accept-encoding', ...(encoded ? { 'content-encoding': encoding } : {}) };
    return this.#send(exchange, { status: 200, headers: varying, body: encoded ?? (await load()) });
  }

  #mount(endpoint: Endpoint, serve: Serve, socket?: SocketRoute): void {
    this.mounted.add(endpoint.id);
    this.#addRoute(endpoint, serve, socket);
  }

  #addRoute(endpoint: Endpoint, serve: Serve, socket?: SocketRoute): void {
    const route = { serve: (context: RequestContext) => this.#answer(endpoint, context, serve), ...(socket ? { socket } : {}) };
    const [own = '', withoutRest] = routerPathsOf(endpoint);
    this.#router.add(endpoint.method, own, route);
    // It may have an endpoint of its own, which is mounted first.
    if (withoutRest !== undefined && !this.#router.has(endpoint.method, withoutRest)) this.#router.add(endpoint.method, withoutRest, route);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = this.#openExchange(request, response);
    this.#active.add(exchange);
    response.once('close', () => this.#finish(exchange, response));
    try {
      const { route, raw } = this.#find(exchange);
      await route.serve({ exchange, request, response, raw });
    } catch (error) {
      this.#answerFailure(error, exchange);
    }
  }

  /** @throws ServiceError where the request is refused whoever sent it, or no path matches */
  #find(exchange: Exchange): { route: Route; raw: RawRequest } {
    this.#check(exchange);
    return this.#router.find(exchange);
  }

  async #admit(endpoint: Endpoint, exchange: Exchange, raw: RawRequest): Promise<void> {
    exchange.routeTo(endpoint);
    if (exchange.forwarded) exchange.principal = exchange.forwarded.principal;
    else await exchange.trace(() => this.#admission.admit(endpoint, exchange, raw));
    exchange.caller.name = endpoint.id;
  }

  async #answer(endpoint: Endpoint, context: RequestContext, serve: Serve): Promise<void> {
    const { exchange, raw } = context;
    const { params } = raw;
    if (endpoint.isPathOpen === true) nameOpenPath(endpoint, params);
    exchange.acceptsLinks = acceptsLinks(endpoint.auth);
    await this.#admit(endpoint, exchange, raw);
    const answers = {
      here: async () => serve(context),
      there: (target: ForwardTarget, isLast: boolean) => this.#others.forward(endpoint, exchange, target, { isLast }),
    };
    return exchange.trace(() => runFor(exchange.caller, () => this.#others.byPath(endpoint, exchange, params, answers)));
  }

  async #serve(endpoint: Endpoint, handler: LooseHandler, { exchange, raw }: RequestContext): Promise<void> {
    const body = await validate(endpoint, exchange, raw, this.#bodies);
    await resolveSessionNames(exchange, this.#options.sessionIdOf);
    exchange.origin = this.#originOf(exchange);
    return this.#others.byContent(endpoint, exchange, {
      here: async () => this.#reply(exchange, await this.#run(endpoint, handler, exchange, body)),
      there: (target, isLast) => this.#others.forward(endpoint, exchange, target, { body: body ?? noBody, isLast }),
    });
  }

  async #run(endpoint: Endpoint, handler: LooseHandler, exchange: Exchange, raw: Buffer | undefined): Promise<HttpResponse> {
    const { limits } = this.#options;
    // Not on public endpoints: without a caller, strangers would get each other's responses.
    const key = acceptsIdempotencyKey(endpoint) ? exchange.header('idempotency-key') : undefined;
    const deadlineMs = endpoint.deadlineMs ?? limits.deadlineMs;
    const work = async (): Promise<HttpResponse> =>
      toResponse(endpoint, exchange, await this.#others.gather(endpoint, exchange, await handler(exchange)));
    return exchange.withDeadline(
      deadlineMs,
      key === undefined ? work() : this.#idempotency.once(endpoint, exchange, { key, raw, deadlineMs }, work),
    );
  }

  /** An error before the first byte becomes an ordinary error response; after it, the connection is closed. */
  async #serveStream(endpoint: Endpoint, context: RequestContext, open: () => Promise<Stream>): Promise<void> {
    const { exchange, request, response, raw } = context;
    await validate(endpoint, exchange, raw, this.#bodies);
    await resolveSessionNames(exchange, this.#options.sessionIdOf);
    exchange.origin = this.#originOf(exchange);
    const work = async (): Promise<void> => {
      const stream = await open();
      if (exchange.aborted) return stream.drop();
      this.#begin(exchange, stream.status ?? exchange.status ?? endpoint.status, { ...exchange.headers, ...stream.headers });
      if (request.method !== 'HEAD') return stream.send(response, exchange.signal);
      response.end();
      return stream.drop();
    };
    try {
      await exchange.withDeadline(endpoint.deadlineMs ?? this.#options.limits.deadlineMs, work());
    } catch (error) {
      if (!response.headersSent) throw error;
    }
  }

  #openExchange(request: IncomingMessage, response: ServerResponse | null): Exchange {
    this.#options.onRequest?.();
    const forwarded = this.#forwarded.get(request) ?? null;
    const exchange = new Exchange(request, response, forwarded?.requestId ?? requestIdOf(request), forwarded);
    exchange.inner = this.#inner.get(request.socket) ?? null;
    return exchange;
  }

  #originOf({ forwarded, inner, request }: Exchange): string {
    return forwarded?.origin ?? inner?.origin ?? this.#peers.origin(request);
  }

  fetchAs(call: InnerCall): typeof fetch {
    return fetchOver(() => {
      const [client, server] = connectionPair();
      this.#inner.set(server, call);
      // It carries plain HTTP, also where the port speaks TLS.
      this.#server.emit(this.#options.tls ? 'secureConnection' : 'connection', server);
      return client;
    });
  }

  receive(request: IncomingMessage, response: ServerResponse, call: ForwardedCall): void {
    this.#forwarded.set(request, call);
    void this.#handle(request, response);
  }

  receiveUpgrade(request: IncomingMessage, { socket, head }: { socket: Duplex; head: Buffer }, call: ForwardedCall): void {
    this.#forwarded.set(request, call);
    this.#server.emit('upgrade', request, socket, head);
  }

  /** Checks that apply to every request. */
  #check({ request, target }: Exchange): void {
    if (target.length > this.#options.limits.urlBytesMax) throw urlTooLong(this.#options.limits.urlBytesMax);
    const hosts = countHeader(request, 'host');
    if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1'))
      throw new ServiceError('bad_request', 'Exactly one Host header is required.');
    const { expect, 'transfer-encoding': transferEncoding } = request.headers;
    if (expect !== undefined && expect.toLowerCase() !== '100-continue')
      throw new ServiceError('bad_request', 'Only `Expect: 100-continue` is supported.');
    if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked')
      throw new ServiceError('not_implemented', 'The only supported Transfer-Encoding is `chunked`.');
  }

  #finish(exchange: Exchange, response: ServerResponse): void {
    this.#active.delete(exchange);
    this.#onIdle?.();
    const delivered = response.writableFinished;
    if (!delivered) exchange.abort(new ClientDisconnectedError());
    const { endpointId, path, request, startedMs, code } = exchange;
    const status = delivered ? response.statusCode : clientClosedRequestStatus;
    const ms = Math.round((performance.now() - startedMs) * 10) / 10;
    // Counted once, where the client is.
    if (!exchange.forwarded) this.#options.onCompleted?.({ endpointId, status, code, ms });
    exchange.endTrace(status);
    const fields = { ...exchange.logFields, method: request.method, path, endpoint: endpointId, status, ms };
    // Successful reads are frequent and change nothing.
    if (request.method === 'GET' && delivered && response.statusCode < 400) this.#options.log.debug(fields, 'request');
    else this.#options.log.info(fields, 'request');
  }

  #answerFailure(thrown: unknown, exchange: Exchange): void {
    exchange.code = outcomeOf(thrown).code;
    logFailure(this.#options.log, thrown, { ...exchange.logFields, endpoint: exchange.endpointId });
    if (exchange.response?.headersSent === true) return void exchange.response.destroy();
    this.#reply(exchange, this.#toErrorPage(thrown, exchange) ?? toErrorResponse(thrown, exchange.requestId));
  }

  /** Returns an error page for a person who opens a link, or an address that does not exist; otherwise null. */
  #toErrorPage(thrown: unknown, { request, acceptsLinks: byLink, code }: Exchange): HttpResponse | null {
    const { errorPage } = this.#options;
    return errorPage && (byLink || code === 'route_not_found') && prefersHtml(request) ? toErrorPage(thrown, errorPage) : null;
  }

  #reply(exchange: Exchange, { status, headers, body }: HttpResponse): void {
    if (body === '') return this.#send(exchange, { status, headers, body });
    // A terminal shows its prompt on a line of its own.
    const line = body.endsWith('\n') ? body : `${body}\n`;
    this.#send(exchange, { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: line });
  }

  #send(exchange: Exchange, { status, headers, body }: Sent): void {
    const { response } = exchange;
    if (!response || response.destroyed) return;
    const length = status === 204 || status === 304 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    this.#begin(exchange, status, { ...headers, ...length });
    response.end(body);
  }

  #begin(exchange: Exchange, status: number, headers: Readonly<Record<string, string>>): void {
    const { request, response, rateHeaders, code } = exchange;
    // After a transfer encoding that is not known, nothing is read as a request: where the body ends is not certain.
    const isLast = this.#isClosing || this.#options.isDraining() || code === 'not_implemented';
    response?.writeHead(status, {
      ...commonHeaders(exchange),
      ...headers,
      ...rateHeaders,
      ...workerHeaders(exchange, this.#options.forwarder),
      ...(isLast ? { connection: 'close' } : {}),
    });
    if (!request.complete && hasBody(request)) cutUnreadBody(request);
  }

  #rejectMalformed(error: ParserError, socket: Socket): void {
    const cut = [...this.#active].some(({ request, response }) => request.socket === socket && !request.complete && response?.headersSent);
    if (cut || error.code === 'ECONNRESET') return void socket.destroy();
    // The parser reports an error for each further chunk.
    if (this.#malformed.has(socket)) return;
    this.#malformed.add(socket);
    this.#afterReplies(socket, () => refuse(socket, parserError(error, this.#options.limits.urlBytesMax), newId('req')));
  }

  /** Waits for the replies to complete requests that came before on the connection: replies leave in order, and none is lost. */
  #afterReplies(socket: Duplex, next: () => void): void {
    const pending = [...this.#active].filter(({ request, response }) => request.socket === socket && request.complete && response !== null);
    const last = pending.at(-1)?.response;
    if (!last) return next();
    last.once('close', () => setImmediate(() => this.#afterReplies(socket, next)));
  }

  async listen(port: BoundPort): Promise<void> {
    this.#port = port;
    await port.handOver(this.#server);
  }

  async close(graceMs: number): Promise<void> {
    const reason = new ServiceError('draining', 'This worker is shutting down. Try again.', { retryAfterSeconds: 1 });
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#upgrades.abort(reason);
    for (const exchange of this.#active) if (exchange.isEndless) exchange.abort(reason);
    await this.#waitUntil(() => this.#active.size === 0, graceMs);
    for (const exchange of this.#active) exchange.abort(reason);
    await this.#waitUntil(() => this.#active.size + this.#upgrades.size === 0, abortGraceMs);
    this.#upgrades.destroyAll();
    this.#server.closeAllConnections();
    await Promise.all([closed, this.#bodies.large.close()]);
    this.#port?.close();
  }

  /** Checks again whenever a request or socket closes; resolves after `ms` at the latest. */
  async #waitUntil(isIdle: () => boolean, ms: number): Promise<void> {
    if (isIdle()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = () => (isIdle() ? resolve() : undefined);
    await orAfter(promise, ms);
    this.#onIdle = undefined;
  }
}

const commonHeaders = ({ requestId, traceparent, acceptsLinks: byLink }: Exchange): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ...(traceparent === undefined ? {} : { traceparent }),
  // The URL of the first load contains the token.
  ...(byLink ? { 'referrer-policy': 'no-referrer' } : {}),
});

/** The endpoint's path as the router writes it. An open path has a second one, without the rest. */
function routerPathsOf({ path, isPathOpen = false }: Endpoint): string[] {
  const written = path.replace(/\{(\w+)\}/g, ':$1');
  return isPathOpen ? [written.replace(/:\w+$/, '*'), written.replace(/\/:\w+$/, '')] : [written];
}

/** The router calls the rest of a path `*`. */
function nameOpenPath({ path }: Endpoint, params: Record<string, string>): void {
  const { '*': rest = '' } = params;
  delete params['*'];
  params[/\{(\w+)\}$/.exec(path)?.[1] ?? ''] = rest;
}

/** The client's own id is used where it is harmless in logs and headers. */
function requestIdOf({ headers }: IncomingMessage): string {
  const id = headers['x-request-id'];
  return typeof id === 'string' && /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? id : newId('req');
}

async function toResponse(endpoint: Endpoint, exchange: Exchange, result: unknown): Promise<HttpResponse> {
  const status = exchange.status ?? endpoint.status;
  if (endpoint.replyKind === 'empty') return { status, headers: exchange.headers, body: '' };
  if (endpoint.replyKind === 'text')
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...exchange.headers }, body: String(result) };
  if (endpoint.replyKind === 'html')
    return { status, headers: { ...exchange.headers, 'content-type': 'text/html; charset=utf-8' }, body: String(result) };
  return { status, headers: exchange.headers, body: await toJsonText(result) };
}

/**
 * The response is written although the body is not read. The rest of the body is
 * discarded for a while, because an immediate close would lose the response. Node
 * closes at once where the client asked for `Connection: close`: that has to wait.
 */
function cutUnreadBody(request: IncomingMessage): void {
  const { socket } = request;
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy();
  }, unreadBodyGraceMs).unref();
  socket.destroySoon = () => void (request.complete ? Socket.prototype.destroySoon.call(socket) : socket.end());
  request.once('close', () => {
    clearTimeout(timer);
    if (socket.writableEnded) socket.destroySoon();
  });
}
