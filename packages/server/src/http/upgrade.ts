import { ServiceError } from '@berth/contract';
import type { Endpoint, ErrorCode } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { Log } from '../lib/log.ts';
import type { Admission } from './admission.ts';
import { binaryStream } from './binary-stream.ts';
import type { Call, Principal, Upgrade } from './call.ts';
import { logFailure, outcomeOf } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { CallerGone } from './exchange.ts';
import type { Peers } from './peer.ts';
import type { HttpOptions } from './options.ts';
import { refuse } from './refusal.ts';
import { fill, parseQuery } from './validate.ts';

export type LooseSocketHandler = (call: Call, upgrade: Upgrade) => Promise<void> | void;

/** A connection that asks to become a WebSocket. */
interface Handshake {
  socket: Duplex;
  head: Buffer;
  accepted: WebSocket | null;
}

interface SocketRoute {
  endpoint: Endpoint;
  pattern: RegExp;
  names: string[];
  handler: LooseSocketHandler;
}

export interface UpgradesOptions {
  admission: Admission;
  peers: Peers;
  log: Log;
  answered: HttpOptions['answered'];
  /** Checks what every request must keep to, and gives it its id. */
  open(request: IncomingMessage): Exchange;
  check(exchange: Exchange): void;
  defaultDeadlineMs: number;
  /** Called when the last socket is gone. */
  onEmpty(): void;
}

/** Where the handler names no other. 256 MiB: a DevTools message may hold a whole heap snapshot or a large download. */
const messageBytesMaxOfAll = 256 * 1024 * 1024;

/**
 * WebSocket endpoints. All that is refused is refused before the handshake,
 * as an ordinary answer that any HTTP client can read.
 */
export class Upgrades {
  #options: UpgradesOptions;
  #routes: SocketRoute[] = [];
  #sockets = new Map<Duplex, Exchange>();
  /** One for each size of messages that some handler takes: a server has one for all. */
  readonly #servers = new Map<number, WebSocketServer>();

  constructor(options: UpgradesOptions) {
    this.#options = options;
  }

  /** Connections that are, or are about to become, WebSockets. */
  get size(): number {
    return this.#sockets.size;
  }

  add(endpoint: Endpoint, handler: LooseSocketHandler): void {
    const names: string[] = [];
    const pattern = endpoint.path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, (_, name: string) => {
      names.push(name);
      return '([^/]+)';
    });
    this.#routes.push({ endpoint, pattern: new RegExp(`^${pattern}/?$`), names, handler });
  }

  /** For the server's `upgrade` event. Never throws. */
  async take(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const exchange = this.#options.open(request);
    this.#sockets.set(socket, exchange);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#sockets.delete(socket);
      exchange.abort(new CallerGone());
      if (this.#sockets.size === 0) this.#options.onEmpty();
      const { requestId, endpointId, path, startedMs } = exchange;
      const facts = { request_id: requestId, endpoint: endpointId, path, ms: Math.round(performance.now() - startedMs) };
      this.#options.log.info(facts, 'socket closed');
    });
    const handshake: Handshake = { socket, head, accepted: null };
    try {
      await this.#serve(exchange, handshake);
    } catch (error) {
      logFailure(this.#options.log, error, { request_id: exchange.requestId, endpoint: exchange.endpointId });
      if (handshake.accepted) {
        closeAfter(handshake.accepted, error);
        return;
      }
      this.#tell(exchange, outcomeOf(error));
      refuse(socket, error, exchange.requestId, exchange.rateHeaders);
    }
  }

  /** A socket counts when it is opened or refused: how long it lives is no matter of how fast we answer. */
  #tell({ endpointId, startedMs }: Exchange, outcome: { status: number; code: ErrorCode | null }): void {
    this.#options.answered?.({ endpointId, ms: performance.now() - startedMs, ...outcome });
  }

  async #serve(exchange: Exchange, handshake: Handshake): Promise<void> {
    this.#options.check(exchange);
    const [path = '', search = ''] = exchange.target.split('?', 2);
    const { route, params } = this.#find(path);
    const raw = { params, query: parseQuery(search) };
    exchange.endpointId = route.endpoint.id;
    await this.#options.admission.admit(route.endpoint, exchange, raw);
    checkHandshake(exchange.request);
    exchange.origin = this.#options.peers.origin(exchange.request);
    checkOrigin(exchange.request, exchange.origin, exchange.principal);
    fill(exchange, route.endpoint, raw);
    const work = (async () => route.handler(exchange, this.#upgradeOf(exchange, handshake)))();
    // Once the socket is open it lives as long as what it serves; only the way there has a deadline.
    const timer = setTimeout(() => {
      if (!handshake.accepted) exchange.abort(new ServiceError('deadline_exceeded', 'The socket could not be opened in time.'));
    }, route.endpoint.deadlineMs ?? this.#options.defaultDeadlineMs);
    try {
      await exchange.untilAborted(work);
    } finally {
      clearTimeout(timer);
    }
  }

  #upgradeOf(exchange: Exchange, handshake: Handshake): Upgrade {
    const { request } = exchange;
    const { socket, head } = handshake;
    const open = <T>(messageBytesMax: number | undefined, use: (webSocket: WebSocket) => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new CallerGone());
        this.#serverFor(messageBytesMax ?? messageBytesMaxOfAll).handleUpgrade(request, socket, head, (webSocket) => {
          handshake.accepted = webSocket;
          this.#tell(exchange, { status: 101, code: null });
          // Its close follows, which is what handlers wait for: an error that none listens to would end the process.
          webSocket.on('error', () => undefined);
          resolve(use(webSocket));
        });
      });
    return {
      request,
      socket,
      accept: ({ messageBytesMax } = {}) => open(messageBytesMax, (webSocket) => webSocket),
      // Made at once, so that no message comes before it listens.
      acceptStream: ({ messageBytesMax } = {}) =>
        open(messageBytesMax, (webSocket) => ({ socket: webSocket, stream: binaryStream(webSocket) })),
    };
  }

  #serverFor(messageBytesMax: number): WebSocketServer {
    const known = this.#servers.get(messageBytesMax);
    if (known) return known;
    // Compression costs more than the loopback and the tunnels that carry DevTools; its texts are checked by who reads them.
    const options = { noServer: true, perMessageDeflate: false, skipUTF8Validation: true, clientTracking: false };
    const server = new WebSocketServer({ ...options, maxPayload: messageBytesMax });
    this.#servers.set(messageBytesMax, server);
    return server;
  }

  #find(path: string): { route: SocketRoute; params: Record<string, string> } {
    for (const route of this.#routes) {
      const match = route.pattern.exec(path);
      if (match) return { route, params: Object.fromEntries(route.names.map((name, index) => [name, decode(match[index + 1] ?? '')])) };
    }
    throw new ServiceError('route_not_found', 'There is no WebSocket at this address.');
  }

  /** Tells every open socket's handler that the service stops. */
  abort(reason: Error): void {
    for (const exchange of this.#sockets.values()) exchange.abort(reason);
  }

  destroyAll(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
    for (const server of this.#servers.values()) server.close();
  }
}

/** Only where the handler has not closed it already, with a better reason. */
function closeAfter(webSocket: WebSocket, error: unknown): void {
  if (error instanceof ServiceError && error.code === 'draining') webSocket.close(1012, 'service_restart');
  else webSocket.close(1011, 'internal_error');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ServiceError('bad_request', 'The address of the request is malformed.');
  }
}

function checkHandshake({ method, headers }: IncomingMessage): void {
  const key = headers['sec-websocket-key'];
  if (method !== 'GET' || key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key))
    throw new ServiceError('bad_request', 'This is no WebSocket handshake.');
  if (headers['sec-websocket-version'] !== '13')
    throw new ServiceError('bad_request', 'Only version 13 of the WebSocket protocol is spoken.');
}

/**
 * Programs send no Origin. A page does, and a page of another site has no
 * business here. A cookie comes along whoever asks, so that it counts only
 * where the browser says that a page of ours does.
 */
function checkOrigin({ headers }: IncomingMessage, ours: string, { viewer }: Principal): void {
  const { origin } = headers;
  const byCookie = viewer !== undefined && !viewer.isFirstLoad;
  if (origin === undefined ? byCookie : origin.toLowerCase() !== (URL.parse(ours)?.origin ?? ours))
    throw new ServiceError('origin_not_allowed', 'Pages of other origins may not open this socket.');
}
