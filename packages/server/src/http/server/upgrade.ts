import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError, type Endpoint, type ErrorCode } from '@berth/contract';
import { createWebSocketStream, WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { Log } from '@berth/lib/log.ts';
import { runFor } from '@berth/lib/turns/sections.ts';
import { BoundedSocket } from './bounded-socket.ts';
import type { Call, Upgrade } from '../call.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { logFailure, outcomeOf } from '../errors.ts';
import { ClientDisconnectedError, type Exchange } from './exchange.ts';
import type { HttpOptions } from '../options.ts';
import { workerHeader, workerHeaders, type ForwardTarget } from '../forward/forward.ts';
import { passRefusal, type OtherWorkers } from '../forward/other-workers.ts';
import { refuse } from '../refusal.ts';
import { relayRefusal, relaySocket } from '../forward/relay-response.ts';
import { resolveSessionNames } from '../forward/session-names.ts';
import { SocketBudgets, type SocketLimits } from '../limits/socket-budgets.ts';
import { fill, type RawRequest } from '../body/validate.ts';
import { routeNotFound } from './router.ts';

type LooseSocketHandler = (call: Call, upgrade: Upgrade) => Promise<void> | void;

/** A connection that requests an upgrade to WebSocket. */
interface Handshake {
  socket: Duplex;
  head: Buffer;
  accepted: WebSocket | null;
  /** Whether another worker has answered it. */
  isForwarded: boolean;
}

export interface SocketRoute {
  endpoint: Endpoint;
  handler: LooseSocketHandler;
}

interface UpgradesDeps {
  log: Log;
  onCompleted: HttpOptions['onCompleted'];
  /** Creates the exchange with its request id. */
  open(request: IncomingMessage): Exchange;
  /** `socket`: undefined where the path has no WebSocket. @throws ServiceError */
  find(exchange: Exchange): { route: { socket?: SocketRoute }; raw: RawRequest };
  /** Lets the caller in. @throws ServiceError */
  admit(endpoint: Endpoint, exchange: Exchange, raw: RawRequest): Promise<void>;
  others: OtherWorkers;
  sessionIdOf: HttpOptions['sessionIdOf'];
  originOf(exchange: Exchange): string;
  forwarder: HttpOptions['forwarder'];
  defaultDeadlineMs: number;
  socketLimits: SocketLimits;
  /** Called when the last socket has closed. */
  onEmpty(): void;
}

/** A file of 50 MiB, which is the most that Playwright sends to another machine, fits in one DevTools message as base64; more is an attack. */
const defaultMessageBytesMax = 80 * 1024 * 1024;
/** Time limit for the other side's close frame. */
const closeTimeoutMs = 2000;

/**
 * WebSocket endpoints. Errors are reported before the handshake, as ordinary
 * responses that any HTTP client can read.
 */
export class Upgrades {
  #options: UpgradesDeps;
  #sockets = new Map<Duplex, Exchange>();
  /** One for each message size limit, which `ws` sets by server. */
  readonly #servers = new Map<number, SocketServer>();
  readonly #budgets: SocketBudgets;
  /** Rejects the handshake of a socket. */
  readonly #accepting = new WeakMap<Duplex, (reason: Error) => void>();

  constructor(options: UpgradesDeps) {
    this.#options = options;
    this.#budgets = new SocketBudgets(options.socketLimits);
  }

  /** Number of open and pending WebSockets. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Handles the server's `upgrade` event. Never throws. */
  async handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (socket.destroyed) return;
    const exchange = this.#options.open(request);
    this.#sockets.set(socket, exchange);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#sockets.delete(socket);
      exchange.abort(new ClientDisconnectedError());
      if (this.#sockets.size === 0) this.#options.onEmpty();
      const { logFields, endpointId, path, startedMs } = exchange;
      const fields = { ...logFields, endpoint: endpointId, path, ms: Math.round(performance.now() - startedMs) };
      this.#options.log.info(fields, 'socket closed');
    });
    const handshake: Handshake = { socket, head, accepted: null, isForwarded: false };
    try {
      await this.#serve(exchange, handshake);
    } catch (error) {
      logFailure(this.#options.log, error, { ...exchange.logFields, endpoint: exchange.endpointId });
      if (handshake.accepted) {
        closeAfter(handshake.accepted, error);
        return;
      }
      this.#report(exchange, outcomeOf(error));
      refuse(socket, error, exchange.requestId, { ...exchange.rateHeaders, ...workerHeaders(exchange, this.#options.forwarder) });
    }
  }

  /** A socket is counted when it is opened or refused: its lifetime is no latency of the service. */
  #report(exchange: Exchange, outcome: { status: number; code: ErrorCode | null }): void {
    const { endpointId, startedMs } = exchange;
    exchange.code = outcome.code;
    exchange.endTrace(outcome.status);
    if (!exchange.forwarded) this.#options.onCompleted?.({ endpointId, ms: performance.now() - startedMs, ...outcome });
  }

  async #serve(exchange: Exchange, handshake: Handshake): Promise<void> {
    const { route, raw } = this.#options.find(exchange);
    const { socket } = route;
    if (!socket) throw routeNotFound('WebSocket endpoint matches', exchange);
    const { endpoint } = socket;
    await this.#options.admit(endpoint, exchange, raw);
    checkHandshake(exchange.request);
    exchange.origin = this.#options.originOf(exchange);
    checkOrigin(exchange.request, exchange.origin, exchange.principal);
    fill(exchange, endpoint, raw);
    await resolveSessionNames(exchange, this.#options.sessionIdOf);
    const work = exchange.trace(() => runFor(exchange.caller, () => this.#answer(socket, exchange, handshake)));
    const deadlineMs = endpoint.deadlineMs ?? this.#options.defaultDeadlineMs;
    // Only the handshake has a deadline, not the open socket.
    const timer = setTimeout(() => {
      if (!handshake.accepted && !handshake.isForwarded)
        exchange.abort(new ServiceError('deadline_exceeded', 'The WebSocket could not be opened within the deadline.'));
    }, deadlineMs);
    try {
      await exchange.untilAborted(work);
    } finally {
      clearTimeout(timer);
    }
  }

  #answer({ endpoint, handler }: SocketRoute, exchange: Exchange, handshake: Handshake): Promise<void> {
    const { others } = this.#options;
    const { params = {} } = exchange as { params?: Record<string, string> };
    const answers = {
      here: async () => handler(exchange, this.#upgradeOf(exchange, handshake)),
      there: (target: ForwardTarget, isLast: boolean) => this.#forward(exchange, handshake, { target, isLast }),
    };
    return others.byPath(endpoint, exchange, params, { ...answers, here: () => others.byContent(endpoint, exchange, answers) });
  }

  async #forward(exchange: Exchange, handshake: Handshake, { target, isLast }: { target: ForwardTarget; isLast: boolean }): Promise<void> {
    const { forwarder } = this.#options;
    const { socket } = handshake;
    if (!forwarder) throw new Error('this worker is alone');
    if (target.sessionId !== null) exchange.caller.sessionId = target.sessionId;
    // Nobody reads the connection before the handshake, so it would not close.
    const onEnd = (): void => exchange.abort(new ClientDisconnectedError());
    socket.once('end', onEnd);
    const answer = await forwarder.open(exchange, target, socket).finally(() => socket.off('end', onEnd));
    if (!('socket' in answer)) passRefusal(answer, isLast);
    handshake.isForwarded = true;
    this.#report(exchange, 'socket' in answer ? { status: 101, code: null } : answer);
    if ('socket' in answer) relaySocket(exchange, handshake, answer, target.workerId);
    else await relayRefusal(exchange, socket, answer, target.workerId).catch(() => socket.destroy());
  }

  #upgradeOf(exchange: Exchange, handshake: Handshake): Upgrade {
    const { request } = exchange;
    const { socket, head } = handshake;
    const { session_id: sessionInPath = '' } = (exchange.params ?? {}) as Record<string, string>;
    const open = <T>(messageBytesMax: number | undefined, sessionId: string, use: (webSocket: WebSocket) => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new ClientDisconnectedError());
        // The library only destroys the socket of a client that has disconnected.
        socket.once('close', () => reject(new ClientDisconnectedError()));
        this.#accepting.set(socket, reject);
        this.#serverFor(messageBytesMax ?? defaultMessageBytesMax).handleUpgrade(request, socket, head, (webSocket) => {
          webSocket.begin(socket, { owner: exchange.principal.owner, sessionId }, this.#budgets);
          handshake.accepted = webSocket;
          this.#report(exchange, { status: 101, code: null });
          // Handlers wait for the close event that follows; an unhandled error event would end the process.
          webSocket.on('error', () => undefined);
          resolve(use(webSocket));
        });
      });
    return {
      request,
      socket,
      accept: ({ messageBytesMax, sessionId = sessionInPath } = {}) => open(messageBytesMax, sessionId, (webSocket) => webSocket),
      // Created synchronously, so that it misses no message.
      acceptStream: ({ messageBytesMax } = {}) =>
        open(messageBytesMax, sessionInPath, (webSocket) => ({ socket: webSocket, stream: binaryStream(webSocket) })),
      hasRoom: (webSocket) => {
        if (webSocket instanceof BoundedSocket) this.#budgets.enforce('unread', webSocket);
        return webSocket.readyState === webSocket.OPEN;
      },
    };
  }

  #serverFor(messageBytesMax: number): SocketServer {
    const existing = this.#servers.get(messageBytesMax);
    if (existing) return existing;
    const server = createSocketServer(messageBytesMax);
    const { forwarder } = this.#options;
    if (forwarder) server.on('headers', (headers) => headers.push(`${workerHeader}: ${forwarder.workerId}`));
    // The library itself refuses some handshakes, such as one with a malformed subprotocol.
    server.on('wsClientError', (cause, socket) =>
      this.#accepting.get(socket)?.(new ServiceError('bad_request', 'The WebSocket handshake is malformed.', { cause })),
    );
    this.#servers.set(messageBytesMax, server);
    return server;
  }

  /** Aborts the handlers of all sockets. */
  abort(reason: Error): void {
    for (const exchange of this.#sockets.values()) exchange.abort(reason);
  }

  destroyAll(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
    for (const server of this.#servers.values()) server.close();
  }
}

/** An option that the library's types do not know. */
const closing = { closeTimeout: closeTimeoutMs };
const createSocketServer = (messageBytesMax: number) =>
  new WebSocketServer({
    noServer: true,
    WebSocket: BoundedSocket,
    // Compression costs more than it saves on loopback and tunnels. Readers of the messages check their UTF-8.
    perMessageDeflate: false,
    skipUTF8Validation: true,
    clientTracking: false,
    maxPayload: messageBytesMax,
    autoPong: false,
    ...closing,
  });
type SocketServer = ReturnType<typeof createSocketServer>;

/** Has no effect where the handler has already closed the socket with a better reason. */
function closeAfter(webSocket: WebSocket, error: unknown): void {
  if (error instanceof ServiceError && error.code === 'draining') webSocket.close(1012, 'service_restart');
  else webSocket.close(1011, 'internal_error');
}

function checkHandshake({ method, headers }: IncomingMessage): void {
  const key = headers['sec-websocket-key'];
  if (method !== 'GET' || key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key))
    throw new ServiceError('bad_request', 'The WebSocket handshake is malformed.');
  if (headers['sec-websocket-version'] !== '13') throw new ServiceError('bad_request', 'Unsupported WebSocket version; use 13.');
}

/**
 * Programs send no Origin; pages do, and pages of other sites are refused. A
 * browser sends the cookie with every request, so a cookie counts only together
 * with an Origin of this service.
 */
function checkOrigin({ headers }: IncomingMessage, ours: string, { viewer }: Principal): void {
  const { origin } = headers;
  const byCookie = viewer !== undefined && !viewer.isFirstLoad;
  if (origin === undefined ? byCookie : origin.toLowerCase() !== (URL.parse(ours)?.origin ?? ours))
    throw new ServiceError('origin_not_allowed', 'Cross-origin pages must not open this WebSocket.');
}

/**
 * A WebSocket as a byte stream with back-pressure in both directions. A text
 * message is dropped and closes the socket with 1003.
 */
function binaryStream(socket: WebSocket): Duplex {
  const stream = createWebSocketStream(socket);
  const [forwardMessage] = socket.listeners('message') as ((data: RawData, isBinary: boolean) => void)[];
  if (!forwardMessage) throw new Error('the WebSocket stream has no message listener');
  // The library's stream would also pass on the bytes of text messages.
  socket.off('message', forwardMessage);
  socket.on('message', (data, isBinary) => {
    if (isBinary) forwardMessage(data, true);
    else socket.close(1003, 'binary_only');
  });
  // The close event follows, and users wait for that.
  stream.on('error', () => undefined);
  return stream;
}
