import { METHODS } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ServiceError, repeats } from '@berth/contract';
import type { Endpoint } from '@berth/contract';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { newId } from '../lib/ids.ts';
import { Admission, countHeader } from './admission.ts';
import { hasBody } from './body.ts';
import type { Call, EventsHandler, FileHandler, Handler, ServerEvent, SocketHandler } from './call.ts';
import { takesLinks, wantsPage } from './error-page.ts';
import { answerOf, callerGoneStatus, logFailure, outcomeOf, pageOf } from './errors.ts';
import type { Answer } from './errors.ts';
import { CallerGone, Exchange } from './exchange.ts';
import { Idempotency } from './idempotency.ts';
import type { Asset, Http, HttpOptions } from './options.ts';
import { Peers } from './peer.ts';
import { rangeOf } from './ranges.ts';
import type { ParserError } from './refusal.ts';
import { parserError, refuse, urlTooLong } from './refusal.ts';
import { eventStream, fileStream, type FileReply, type Stream } from './stream.ts';
import { Upgrades } from './upgrade.ts';
import { parseQuery, validate } from './validate.ts';

export { defaultLimits } from './options.ts';
export type { Answered, Asset, Http, HttpLimits, HttpOptions } from './options.ts';

export const createHttp = (options: HttpOptions): Http => new FastifyHttp(options);

type LooseHandler = (call: Call) => unknown;
type ParamsAndQuery = { Params: Record<string, string>; Querystring: Record<string, unknown> };
type Incoming = FastifyRequest<ParamsAndQuery> & { exchange: Exchange };
/** One request at its handler. */
interface Visit {
  exchange: Exchange;
  request: Incoming;
  reply: FastifyReply;
}

/** How long a refused caller may go on sending its body before the connection is cut. */
const unreadBodyMs = 2000;
/** How long aborted requests get to answer. */
const abortedMs = 1000;

class FastifyHttp implements Http {
  readonly mounted = new Set<string>();
  readonly #options: HttpOptions;
  readonly #app: FastifyInstance;
  readonly #peers: Peers;
  readonly #admission: Admission;
  readonly #idempotency: Idempotency;
  readonly #upgrades: Upgrades;
  readonly #active = new Set<Exchange>();
  /** The methods of each path, in the order of mounting. */
  readonly #methods = new Map<string, string[]>();
  #calmed: (() => void) | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#peers = new Peers(options.trustedProxies, options.publicUrl);
    this.#admission = new Admission({ ...options, peers: this.#peers });
    this.#idempotency = new Idempotency(options);
    this.#upgrades = new Upgrades({
      admission: this.#admission,
      peers: this.#peers,
      log: options.log,
      answered: options.answered,
      open: (request) => new Exchange(request, null, requestIdOf(request)),
      check: (exchange) => this.#check(exchange),
      defaultDeadlineMs: options.limits.deadlineMs,
      onEmpty: () => this.#calmed?.(),
    });
    this.#app = this.#createApp();
  }

  #createApp(): FastifyInstance {
    const { limits } = this.#options;
    const settings: FastifyServerOptions<Server> & { http: ServerOptions } = {
      logger: false,
      return503OnClosing: false,
      // Idle connections are closed by close() itself, after the last answer.
      forceCloseConnections: 'idle',
      // The body has a timeout of its own, which can be answered better; this one is for what comes before it.
      requestTimeout: limits.requestTimeoutMs * 2,
      http: {
        maxHeaderSize: limits.headerBytes,
        headersTimeout: limits.requestTimeoutMs,
        connectionsCheckingInterval: 1000,
        // A missing Host is refused by us, in the form of our errors.
        requireHostHeader: false,
        // Clients that offer HTTP/2 on an ordinary request get an ordinary answer.
        shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === 'websocket',
      },
      routerOptions: {
        ignoreTrailingSlash: true,
        // The router would call a longer one malformed; it is told as what it is, too long.
        maxParamLength: limits.headerBytes,
        querystringParser: parseQuery,
      },
      clientErrorHandler: (error: ParserError, socket) => this.#refuseBroken(error, socket),
      frameworkErrors: (error, request, reply) => {
        this.#answerFailure(error, request as unknown as Incoming, reply);
      },
    };
    const app: FastifyInstance = Fastify(settings);
    app.decorateRequest('exchange', null);
    // Bodies are read by validate(), after the guard. The framework must neither read nor judge them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addHook('onRequest', (request, reply, done) => this.#open(request as unknown as Incoming, reply, done));
    app.setErrorHandler((error, request, reply) => this.#answerFailure(error, request as unknown as Incoming, reply));
    app.setNotFoundHandler(() => {
      throw routeNotFound();
    });
    app.server.on('upgrade', (request, socket, head) => void this.#upgrades.take(request, socket, head));
    app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
    app.server.on('checkExpectation', (request: IncomingMessage) =>
      refuse(request.socket, new ServiceError('bad_request', 'Only `Expect: 100-continue` is understood.'), requestIdOf(request)),
    );
    return app;
  }

  on<E extends Endpoint>(endpoint: E, handler: Handler<E>): void {
    const loose = handler as unknown as LooseHandler;
    this.#mount(endpoint, async ({ exchange, request, reply }) =>
      this.#send(reply, exchange, await this.#serve(endpoint, loose, exchange, request)),
    );
  }

  onFile<E extends Endpoint>(endpoint: E, handler: FileHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<FileReply> | FileReply;
    this.#mount(endpoint, (visit) =>
      this.#serveStream(endpoint, visit, async () => fileStream(await loose(visit.exchange), rangeOf(visit.exchange.request))),
    );
  }

  onEvents<E extends Endpoint>(endpoint: E, handler: EventsHandler<E>): void {
    const loose = handler as unknown as (call: Call) => Promise<AsyncIterable<ServerEvent>> | AsyncIterable<ServerEvent>;
    this.#mount(endpoint, (visit) => {
      visit.exchange.isEndless = true;
      return this.#serveStream(endpoint, visit, async () => eventStream(await loose(visit.exchange), this.#options.limits.keepAliveMs));
    });
  }

  onSocket<E extends Endpoint>(endpoint: E, handler: SocketHandler<E>): void {
    this.#upgrades.add(endpoint, handler);
    this.#mount(endpoint, () => {
      throw new ServiceError('bad_request', 'This address is a WebSocket. Ask for it with `Upgrade: websocket`.');
    });
  }

  asset(path: string, { contentType, headers, load }: Asset, endpoint?: Endpoint): void {
    if (endpoint) this.mounted.add(endpoint.id);
    this.#methods.set(path, [...(this.#methods.get(path) ?? []), 'GET']);
    this.#app.get(path, async (_request, reply) => {
      const body = await load();
      return reply.headers({ 'content-type': contentType, ...headers }).send(body);
    });
  }

  #mount(endpoint: Endpoint, serve: (visit: Visit) => Promise<FastifyReply>): void {
    const path = endpoint.path.replace(/\{(\w+)\}/g, ':$1');
    this.mounted.add(endpoint.id);
    this.#methods.set(path, [...(this.#methods.get(path) ?? []), endpoint.method]);
    this.#app.route<ParamsAndQuery>({
      method: endpoint.method,
      url: path,
      onRequest: async (request, reply) => {
        const { exchange } = request as unknown as Incoming;
        exchange.endpointId = endpoint.id;
        exchange.takesLinks = takesLinks(endpoint.auth);
        // The address of a first load holds the token.
        if (exchange.takesLinks) reply.header('referrer-policy', 'no-referrer');
        await this.#admission.admit(endpoint, exchange, request);
      },
      handler: (request, reply) => {
        const incoming = request as unknown as Incoming;
        return serve({ exchange: incoming.exchange, request: incoming, reply });
      },
    });
  }

  async #serve(endpoint: Endpoint, handler: LooseHandler, exchange: Exchange, request: Incoming): Promise<Answer> {
    const { limits } = this.#options;
    // A key belongs to somebody: strangers would be told each other's answers.
    const key = repeats(endpoint) ? request.headers['idempotency-key'] : undefined;
    const raw = await validate(endpoint, exchange, request, { bytes: limits.bodyBytes, timeoutMs: limits.requestTimeoutMs });
    exchange.origin = this.#peers.origin(exchange.request);
    const deadlineMs = endpoint.deadlineMs ?? limits.deadlineMs;
    const work = async (): Promise<Answer> => toAnswer(endpoint, exchange, await handler(exchange));
    return exchange.within(
      deadlineMs,
      typeof key !== 'string' ? work() : this.#idempotency.once(endpoint, exchange, { key, raw, deadlineMs }, work),
    );
  }

  /** What fails before the first byte is answered like any other request; after it, the answer is cut off. */
  async #serveStream(endpoint: Endpoint, { exchange, request, reply }: Visit, open: () => Promise<Stream>): Promise<FastifyReply> {
    const { limits } = this.#options;
    await validate(endpoint, exchange, request, { bytes: limits.bodyBytes, timeoutMs: limits.requestTimeoutMs });
    exchange.origin = this.#peers.origin(exchange.request);
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
      await exchange.within(endpoint.deadlineMs ?? limits.deadlineMs, work());
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
    }
    return reply;
  }

  #open(request: Incoming, reply: FastifyReply, done: (error?: Error) => void): void {
    const exchange = (request.exchange = this.#enter(request.raw, reply.raw));
    reply.headers({ 'x-request-id': exchange.requestId, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    try {
      this.#check(exchange);
      // A request for nowhere is told so before its content type is looked at.
      if (request.is404) throw routeNotFound();
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #enter(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(request, response, requestIdOf(request));
    this.#active.add(exchange);
    response.once('close', () => this.#finish(exchange, response));
    return exchange;
  }

  /** What every request must keep to, whatever it asks for. */
  #check({ request, target }: Exchange): void {
    if (target.length > this.#options.limits.urlBytes) throw urlTooLong(this.#options.limits.urlBytes);
    const hosts = countHeader(request, 'host');
    if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1'))
      throw new ServiceError('bad_request', 'A request has one Host header.');
  }

  #finish(exchange: Exchange, response: ServerResponse): void {
    this.#active.delete(exchange);
    this.#calmed?.();
    const delivered = response.writableFinished;
    if (!delivered) exchange.abort(new CallerGone());
    const { requestId, endpointId, path, request, startedMs, code } = exchange;
    const status = delivered ? response.statusCode : callerGoneStatus;
    const ms = Math.round((performance.now() - startedMs) * 10) / 10;
    this.#options.answered?.({ endpointId, status, code, ms });
    const facts = { request_id: requestId, method: request.method, path, endpoint: endpointId, status, ms };
    // Reads that succeed come by the thousand and change nothing.
    if (request.method === 'GET' && delivered && response.statusCode < 400) this.#options.log.debug(facts, 'request');
    else this.#options.log.info(facts, 'request');
  }

  #answerFailure(thrown: unknown, request: Incoming, reply: FastifyReply): FastifyReply {
    // A malformed address fails before the first hook.
    const exchange = (request.exchange as Exchange | null) ?? this.#enter(request.raw, reply.raw);
    exchange.code = outcomeOf(thrown).code;
    logFailure(this.#options.log, thrown, { request_id: exchange.requestId, endpoint: exchange.endpointId });
    reply.headers({ 'x-request-id': exchange.requestId, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    return this.#send(reply, exchange, this.#pageOf(thrown, exchange) ?? answerOf(thrown, exchange.requestId));
  }

  #pageOf(thrown: unknown, { request, takesLinks: byLink }: Exchange): Answer | null {
    const { errorPage } = this.#options;
    return errorPage && byLink && wantsPage(request) ? pageOf(thrown, errorPage) : null;
  }

  #send(reply: FastifyReply, exchange: Exchange, { body, ...head }: Answer): FastifyReply {
    this.#begin(reply, exchange, head);
    if (body === '') return reply.send();
    if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json; charset=utf-8');
    return reply.send(body);
  }

  #begin(reply: FastifyReply, exchange: Exchange, { status, headers }: Omit<Answer, 'body'>): void {
    reply.code(status).headers(headers);
    if (exchange.rateHeaders) reply.headers(exchange.rateHeaders);
    if (this.#options.isDraining()) reply.header('connection', 'close');
    if (!exchange.request.complete && hasBody(exchange.request)) cutUnreadBody(exchange.request);
  }

  #refuseBroken(error: ParserError, socket: Socket): void {
    const answering = [...this.#active].some(
      ({ request, response }) => request.socket === socket && response?.headersSent && !response.writableFinished,
    );
    if (answering || error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, parserError(error, this.#options.limits.urlBytes), newId('req'));
  }

  async listen(host: string, port: number): Promise<{ host: string; port: number }> {
    this.#refuseOtherMethods();
    await this.#app.listen({ host, port });
    const address = this.#app.server.address() as AddressInfo;
    return { host, port: address.port };
  }

  #refuseOtherMethods(): void {
    const known = this.#app.supportedMethods.filter((method) => METHODS.includes(method) && method !== 'TRACE');
    for (const [path, methods] of this.#methods) {
      const allowed = methods.includes('GET') ? ['HEAD', ...methods] : methods;
      const others = known.filter((method) => !allowed.includes(method));
      const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
      this.#app.route({
        method: others,
        url: path,
        onRequest: async (_request, reply) => {
          reply.header('allow', allow);
          throw new ServiceError('method_not_allowed', `This address takes ${allow}.`, { details: { allow: allow.split(', ') } });
        },
        handler: () => {},
      });
    }
  }

  async close(graceMs: number): Promise<void> {
    const reason = new ServiceError('draining', 'This worker stops. Try again.', { retryAfterSeconds: 1 });
    const closed = this.#app.close();
    this.#upgrades.abort(reason);
    for (const exchange of this.#active) if (exchange.isEndless) exchange.abort(reason);
    await this.#until(() => this.#active.size === 0, graceMs);
    for (const exchange of this.#active) exchange.abort(reason);
    await this.#until(() => this.#active.size + this.#upgrades.size === 0, abortedMs);
    this.#upgrades.destroyAll();
    this.#app.server.closeAllConnections();
    await closed;
  }

  /** Looks again whenever a request or a socket is gone; gives up after `ms`. */
  async #until(calm: () => boolean, ms: number): Promise<void> {
    if (calm()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#calmed = () => {
        if (!calm()) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#calmed = undefined;
  }
}

const routeNotFound = (): ServiceError => new ServiceError('route_not_found', 'There is nothing at this address.');

/** A caller's own id is taken over where it is harmless in logs and headers. */
function requestIdOf({ headers }: IncomingMessage): string {
  const id = headers['x-request-id'];
  return typeof id === 'string' && /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? id : newId('req');
}

function toAnswer(endpoint: Endpoint, exchange: Exchange, result: unknown): Answer {
  const status = exchange.status ?? endpoint.status;
  if (endpoint.replyKind === 'empty') return { status, headers: exchange.headers, body: '' };
  if (endpoint.replyKind === 'text')
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...exchange.headers }, body: String(result) };
  if (endpoint.replyKind === 'html')
    return { status, headers: { ...exchange.headers, 'content-type': 'text/html; charset=utf-8' }, body: String(result) };
  return { status, headers: exchange.headers, body: JSON.stringify(result) };
}

/**
 * The answer is written although the body is not read. What still comes is
 * thrown away for a while, since a close at once would lose the answer on its way.
 */
function cutUnreadBody(request: IncomingMessage): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, unreadBodyMs).unref();
  request.once('close', () => clearTimeout(timer));
}
