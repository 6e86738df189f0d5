import { METHODS, type IncomingMessage, type OutgoingHttpHeaders, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { acceptsIdempotencyKey, acceptsLinks, ServiceError, type Endpoint } from '@berth/contract';
import { negotiate } from '@fastify/accept-negotiator';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyServerOptions } from 'fastify';
import { newId } from '@berth/lib/ids.ts';
import { toJsonText } from '@berth/lib/json/text.ts';
import { runFor } from '@berth/lib/turns/sections.ts';
import { Admission, countHeader } from '../limits/admission.ts';
import { hasBody } from '../body/body.ts';
import type { Call, EventsHandler, ForwardedCall, FileHandler, Handler, ServerEvent, SocketHandler } from '../call.ts';
import { Compressed } from '../body/compressed.ts';
import { prefersHtml } from '../error-page.ts';
import { clientClosedRequestStatus, logFailure, outcomeOf, toErrorPage, toErrorResponse, type HttpResponse } from '../errors.ts';
import { ClientDisconnectedError, Exchange } from './exchange.ts';
import { workerHeaders } from '../forward/forward.ts';
import { Idempotency } from '../limits/idempotency.ts';
import { KnownPaths, withHead } from './known-paths.ts';
import { LargeBodies } from '../body/large-bodies.ts';
import type { Asset, Http, HttpOptions } from '../options.ts';
import { OtherWorkers, type Incoming, type ParamsAndQuery, type RequestContext } from '../forward/other-workers.ts';
import { Peers } from './peer.ts';
import type { BoundPort } from './port.ts';
import { parserError, refuse, urlTooLong, type ParserError } from '../refusal.ts';
import { resolveSessionNames } from '../forward/session-names.ts';
import { eventStream, fileStream, readRangeHeader, type FileReply, type Stream } from './stream.ts';
import { Upgrades } from './upgrade.ts';
import { parseQuery, validate, type Bodies } from '../body/validate.ts';

export { defaultLimits } from '../options.ts';
export type { CompletedRequest, Asset, Http, HttpLimits, HttpOptions } from '../options.ts';

export const createHttp = (options: HttpOptions): Http => new FastifyHttp(options);

type LooseHandler = (call: Call) => unknown;
/** A refused client may go on sending its body for this long before the connection is closed. */
const unreadBodyGraceMs = 2000;
/** Time for aborted requests to respond. */
const abortGraceMs = 1000;
/** Characters of a path in an error message. */
const shownPathMax = 200;

class FastifyHttp implements Http {
  readonly mounted = new Set<string>();
  readonly #options: HttpOptions;
  readonly #app: FastifyInstance;
  /** Methods that are rejected where a path has others. */
  readonly #rejectable: readonly string[];
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
  readonly #malformed = new WeakSet<Socket>();
  readonly #paths = new KnownPaths();
  #onIdle: (() => void) | undefined;
  #port: BoundPort | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#peers = new Peers(options.trustedProxies, options.publicUrl);
    this.#admission = new Admission({ ...options, peers: this.#peers });
    this.#idempotency = new Idempotency(options);
    const { bodyBytesMax: bytesMax, requestTimeoutMs: timeoutMs } = options.limits;
    this.#bodies = { limits: { bytesMax, timeoutMs }, large: new LargeBodies(options.log) };
    this.#upgrades = new Upgrades({
      admission: this.#admission,
      log: options.log,
      onCompleted: options.onCompleted,
      open: (request) => this.#openExchange(request, null),
      originOf: (exchange) => this.#originOf(exchange),
      forwarder: options.forwarder,
      check: (exchange) => this.#check(exchange),
      sessionIdOf: options.sessionIdOf,
      defaultDeadlineMs: options.limits.deadlineMs,
      socketLimits: options.limits.sockets,
      onEmpty: () => this.#onIdle?.(),
    });
    this.#others = new OtherWorkers({ ...options, originOf: (exchange) => this.#originOf(exchange) });
    this.#app = this.#createApp();
    this.#rejectable = this.#app.supportedMethods.filter((method) => METHODS.includes(method) && method !== 'TRACE');
  }

  #createApp(): FastifyInstance {
    const { limits } = this.#options;
    const settings: FastifyServerOptions<Server> & { http: ServerOptions } = {
      logger: false,
      return503OnClosing: false,
      // close() itself closes idle connections after the last response.
      forceCloseConnections: 'idle',
      // Only for what precedes the body, which has its own timeout with a better error.
      requestTimeout: limits.requestTimeoutMs * 2,
      http: {
        maxHeaderSize: limits.headerBytesMax,
        headersTimeout: limits.requestTimeoutMs,
        connectionsCheckingInterval: 1000,
        // A missing Host header is refused by #check, with an error body.
        requireHostHeader: false,
        // Clients that offer HTTP/2 on an ordinary request get an HTTP/1.1 response.
        shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === 'websocket',
      },
      routerOptions: {
        ignoreTrailingSlash: true,
        // The router would report a longer one as malformed instead of too long.
        maxParamLength: limits.headerBytesMax,
        querystringParser: parseQuery,
      },
      clientErrorHandler: (error: ParserError, socket) => this.#rejectMalformed(error, socket),
      frameworkErrors: (error, request, reply) => {
        this.#answerFailure(error, request as unknown as Incoming, reply);
      },
    };
    const app: FastifyInstance = Fastify(settings);
    app.decorateRequest('exchange', null);
    // validate() reads bodies, after authentication. The framework must not parse them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addHook('onRequest', (request, reply, done) => this.#open(request as unknown as Incoming, reply, done));
    app.setErrorHandler((error, request, reply) => this.#answerFailure(error, request as unknown as Incoming, reply));
    app.setNotFoundHandler((request) => {
      throw routeNotFound((request as unknown as Incoming).exchange, undefined);
    });
    this.#listen(app.server);
    return app;
  }

  #listen(server: Server): void {
    server.on('upgrade', (request, socket, head) => this.#afterReplies(socket, () => void this.#upgrades.handle(request, socket, head)));
    for (const event of ['checkContinue', 'checkExpectation'] as const)
      server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
    server.on('connect', (request, socket) => {
      socket.on('error', () => socket.destroy());
      const error = new ServiceError('not_implemented', 'This service is not a proxy: CONNECT is not supported.');
      this.#afterReplies(socket, () => refuse(socket, error, requestIdOf(request)));
    });
  }

  on<E extends Endpoint>(endpoint: E, handler: Handler<E>): void {
    const loose = handler as unknown as LooseHandler;
    this.#mount(endpoint, (context) => this.#serve(endpoint, loose, context));
  }

  onFile<E extends Endpoint>(endpoint: E, handler: FileHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<FileReply> | FileReply;
    this.#mount(endpoint, (context) =>
      this.#serveStream(endpoint, context, async () =>
        fileStream(await loose(context.exchange), readRangeHeader(context.exchange.request)),
      ),
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
    this.#upgrades.add(endpoint, handler);
    this.#mount(endpoint, () => {
      throw new ServiceError('bad_request', 'This endpoint is a WebSocket. Send `Connection: Upgrade` and `Upgrade: websocket`.');
    });
  }

  asset(path: string, { contentType, headers, load, encodings, isCompressed }: Asset, endpoint?: Endpoint): void {
    if (endpoint) this.mounted.add(endpoint.id);
    this.#paths.add(path, 'GET');
    this.#app.get(path, async (request, reply) => {
      reply.headers({ 'content-type': contentType, ...headers });
      if (isCompressed) {
        const compressed = await this.#compressed.reply(await load(this.#peers.origin(request.raw)), request.headers);
        return reply.code(compressed.status).headers(compressed.headers).send(compressed.body);
      }
      if (!encodings) return reply.send(await load(this.#peers.origin(request.raw)));
      reply.header('vary', 'accept-encoding');
      const encoding = negotiate(request.headers['accept-encoding'] ?? '', [...encodings.keys()]);
      const encoded = encoding === null ? undefined : encodings.get(encoding);
      if (encoded) reply.header('content-encoding', encoding);
      return reply.send(encoded ?? (await load(this.#peers.origin(request.raw))));
    });
  }

  #mount(endpoint: Endpoint, serve: (context: RequestContext) => Promise<FastifyReply>): void {
    this.mounted.add(endpoint.id);
    const [own = '', withoutRest] = routerPathsOf(endpoint);
    this.#mountAt(own, endpoint, serve);
    // It may have an endpoint of its own, which is mounted first.
    if (withoutRest !== undefined && !this.#paths.has(withoutRest, endpoint.method)) this.#mountAt(withoutRest, endpoint, serve);
  }

  #mountAt(path: string, endpoint: Endpoint, serve: (context: RequestContext) => Promise<FastifyReply>): void {
    this.#paths.add(path, endpoint.method);
    this.#app.route<ParamsAndQuery>({
      method: endpoint.method,
      url: path,
      onRequest: async (request, reply) => {
        if (endpoint.isPathOpen === true) nameOpenPath(endpoint, request.params);
        const { exchange } = request as unknown as Incoming;
        exchange.routeTo(endpoint);
        exchange.acceptsLinks = acceptsLinks(endpoint.auth);
        // The URL of the first load contains the token.
        if (exchange.acceptsLinks) reply.header('referrer-policy', 'no-referrer');
        if (exchange.forwarded) exchange.principal = exchange.forwarded.principal;
        else await exchange.trace(() => this.#admission.admit(endpoint, exchange, request));
      },
      handler: (request, reply) => {
        const incoming = request as unknown as Incoming;
        const { exchange } = incoming;
        exchange.caller.name = endpoint.id;
        return exchange.trace(() =>
          runFor(exchange.caller, () => this.#others.answer(endpoint, { exchange, request: incoming, reply }, serve)),
        );
      },
    });
  }

  async #serve(endpoint: Endpoint, handler: LooseHandler, context: RequestContext): Promise<FastifyReply> {
    const { exchange, request, reply } = context;
    const raw = await validate(endpoint, exchange, request, this.#bodies);
    await resolveSessionNames(exchange, this.#options.sessionIdOf);
    exchange.origin = this.#originOf(exchange);
    const here = async (): Promise<FastifyReply> =>
      this.#send(reply, exchange, await this.#run(endpoint, handler, { exchange, request, raw }));
    return this.#others.place(endpoint, context, { body: raw, here });
  }

  async #run(
    endpoint: Endpoint,
    handler: LooseHandler,
    { exchange, request, raw }: { exchange: Exchange; request: Incoming; raw: Buffer | undefined },
  ): Promise<HttpResponse> {
    const { limits } = this.#options;
    // Not on public endpoints: without a caller, strangers would get each other's responses.
    const key = acceptsIdempotencyKey(endpoint) ? request.headers['idempotency-key'] : undefined;
    const deadlineMs = endpoint.deadlineMs ?? limits.deadlineMs;
    const work = async (): Promise<HttpResponse> =>
      toResponse(endpoint, exchange, await this.#others.gather(endpoint, exchange, await handler(exchange)));
    return exchange.withDeadline(
      deadlineMs,
      typeof key !== 'string' ? work() : this.#idempotency.once(endpoint, exchange, { key, raw, deadlineMs }, work),
    );
  }

  /** An error before the first byte becomes an ordinary error response; after it, the connection is closed. */
  async #serveStream(endpoint: Endpoint, { exchange, request, reply }: RequestContext, open: () => Promise<Stream>): Promise<FastifyReply> {
    await validate(endpoint, exchange, request, this.#bodies);
    await resolveSessionNames(exchange, this.#options.sessionIdOf);
    exchange.origin = this.#originOf(exchange);
    const work = async (): Promise<void> => {
      const stream = await open();
      if (exchange.aborted) return stream.drop();
      this.#begin(reply, exchange, {
        status: stream.status ?? exchange.status ?? endpoint.status,
        headers: { ...exchange.headers, ...stream.headers },
      });
      reply.hijack();
      reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
      if (request.method !== 'HEAD') return stream.send(reply.raw, exchange.signal);
      reply.raw.end();
      return stream.drop();
    };
    try {
      await exchange.withDeadline(endpoint.deadlineMs ?? this.#options.limits.deadlineMs, work());
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
    }
    return reply;
  }

  #open(request: Incoming, reply: FastifyReply, done: (error?: Error) => void): void {
    const exchange = (request.exchange = this.#enter(request.raw, reply.raw));
    reply.headers(commonHeaders(exchange));
    try {
      this.#check(exchange);
      // Must precede the check of the content type.
      if (request.is404) throw this.#notFound(exchange, reply);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #enter(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = this.#openExchange(request, response);
    this.#active.add(exchange);
    response.once('close', () => this.#finish(exchange, response));
    return exchange;
  }

  #openExchange(request: IncomingMessage, response: ServerResponse | null): Exchange {
    this.#options.onRequest?.();
    const forwarded = this.#forwarded.get(request) ?? null;
    return new Exchange(request, response, forwarded?.requestId ?? requestIdOf(request), forwarded);
  }

  #originOf({ forwarded, request }: Exchange): string {
    return forwarded?.origin ?? this.#peers.origin(request);
  }

  receive(request: IncomingMessage, response: ServerResponse, call: ForwardedCall): void {
    this.#forwarded.set(request, call);
    this.#app.server.emit('request', request, response);
  }

  receiveUpgrade(request: IncomingMessage, { socket, head }: { socket: Duplex; head: Buffer }, call: ForwardedCall): void {
    this.#forwarded.set(request, call);
    this.#app.server.emit('upgrade', request, socket, head);
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

  #answerFailure(thrown: unknown, request: Incoming, reply: FastifyReply): FastifyReply {
    // A malformed URL fails before the first hook.
    const exchange = (request.exchange as Exchange | null) ?? this.#enter(request.raw, reply.raw);
    exchange.code = outcomeOf(thrown).code;
    // Where the body ends is not certain, so nothing after it is read as a request.
    if (exchange.code === 'not_implemented') reply.header('connection', 'close');
    logFailure(this.#options.log, thrown, { ...exchange.logFields, endpoint: exchange.endpointId });
    reply.headers(commonHeaders(exchange));
    return this.#send(reply, exchange, this.#toErrorPage(thrown, exchange) ?? toErrorResponse(thrown, exchange.requestId));
  }

  /** Returns an error page for a person who opens a link, or an address that does not exist; otherwise null. */
  #toErrorPage(thrown: unknown, { request, acceptsLinks: byLink, code }: Exchange): HttpResponse | null {
    const { errorPage } = this.#options;
    return errorPage && (byLink || code === 'route_not_found') && prefersHtml(request) ? toErrorPage(thrown, errorPage) : null;
  }

  #send(reply: FastifyReply, exchange: Exchange, { body, ...head }: HttpResponse): FastifyReply {
    this.#begin(reply, exchange, head);
    if (body === '') return reply.send();
    if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json; charset=utf-8');
    // A terminal shows its prompt on a line of its own.
    return reply.send(body.endsWith('\n') ? body : `${body}\n`);
  }

  #begin(reply: FastifyReply, exchange: Exchange, { status, headers }: Omit<HttpResponse, 'body'>): void {
    reply.code(status).headers(headers);
    if (exchange.rateHeaders) reply.headers(exchange.rateHeaders);
    reply.headers(workerHeaders(exchange, this.#options.forwarder));
    if (this.#options.isDraining()) reply.header('connection', 'close');
    if (!exchange.request.complete && hasBody(exchange.request)) cutUnreadBody(exchange.request);
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
    this.#rejectOtherMethods();
    await this.#app.ready();
    await port.handOver(this.#app.server);
  }

  /** Most are rejected where no route is found. */
  #rejectOtherMethods(): void {
    const reject = (path: string, method: string[]): unknown =>
      this.#app.route({
        method,
        url: path,
        onRequest: (request, reply) => Promise.reject(this.#notFound((request as unknown as Incoming).exchange, reply)),
        handler: () => {},
      });
    for (const { path, methods } of this.#paths.exceptions()) reject(path, [...methods]);
    // A malformed address is a bad request with each of them, but the router reads none where no path has the method.
    const used = this.#paths.methods;
    reject(
      '*',
      this.#rejectable.filter((method) => !used.has(method)),
    );
  }

  /** Says which methods the path has, if any. */
  #notFound(exchange: Exchange, reply: FastifyReply): ServiceError {
    const { request, target } = exchange;
    const methods = this.#rejectable.includes(request.method ?? '') ? this.#paths.methodsAt(target) : undefined;
    if (!methods) return routeNotFound(exchange, this.#paths.similarTo(target, request.method ?? ''));
    const allow = withHead(methods);
    reply.header('allow', allow.join(', '));
    return new ServiceError('method_not_allowed', `Method not allowed. Allowed: ${allow.join(', ')}.`, { details: { allow } });
  }

  async close(graceMs: number): Promise<void> {
    const reason = new ServiceError('draining', 'This worker is shutting down. Try again.', { retryAfterSeconds: 1 });
    const closed = this.#app.close();
    this.#upgrades.abort(reason);
    for (const exchange of this.#active) if (exchange.isEndless) exchange.abort(reason);
    await this.#waitUntil(() => this.#active.size === 0, graceMs);
    for (const exchange of this.#active) exchange.abort(reason);
    await this.#waitUntil(() => this.#active.size + this.#upgrades.size === 0, abortGraceMs);
    this.#upgrades.destroyAll();
    this.#app.server.closeAllConnections();
    await Promise.all([closed, this.#bodies.large.close()]);
    this.#port?.close();
  }

  /** Checks again whenever a request or socket closes; resolves after `ms` at the latest. */
  async #waitUntil(isIdle: () => boolean, ms: number): Promise<void> {
    if (isIdle()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        if (!isIdle()) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onIdle = undefined;
  }
}

const commonHeaders = ({ requestId, traceparent }: Exchange): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ...(traceparent === undefined ? {} : { traceparent }),
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

function routeNotFound({ request: { method }, path }: Exchange, similar: string | undefined): ServiceError {
  const meant = similar === undefined ? 'See /docs.' : `Did you mean ${method} ${similar.replace(/:(\w+)/g, '{$1}')}?`;
  return new ServiceError('route_not_found', `Not found: no endpoint matches ${method} ${path.slice(0, shownPathMax)}. ${meant}`);
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
