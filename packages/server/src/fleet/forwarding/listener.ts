/** The internal listener: takes requests that other workers have admitted. Who has no certificate of the fleet never gets to HTTP. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { ServiceError } from '@berth/contract';
import { toErrorResponse } from '../../http/errors.ts';
import type { ForwardedCall } from '../../http/call.ts';
import { refuse } from '../../http/refusal.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Credentials } from './credentials.ts';
import { identityHeader } from './headers.ts';
import type { Identities } from './identity.ts';
import { workersOf } from './tls.ts';

/** The service, as the listener sees it. */
export interface Receiver {
  receive(request: IncomingMessage, response: ServerResponse, call: ForwardedCall): void;
  receiveUpgrade(request: IncomingMessage, upgrade: { socket: Duplex; head: Buffer }, call: ForwardedCall): void;
}

export interface ListenerDeps {
  workerId: string;
  credentials: Credentials;
  identities: Identities;
  clock: Clock;
  log: Log;
  /** How long this worker has had the fleet in view without a gap. */
  viewAgeMs(): number;
}

/** Path at which workers ask each other for their view while the database does not answer. */
export const viewPath = '/fleet/view';

/** Maximum bytes of headers: those of a client's request, and the identity. */
const headerBytesMax = 65_536;
/** Keep-alive time, longer than other workers keep a connection without a request. */
const keepAliveMs = 120_000;
const handshakeMs = 5000;
const headersMs = 15_000;

export class Listener {
  readonly #deps: ListenerDeps;
  #server: Server | null = null;
  /** All connections, also those that have not got to HTTP, which Node does not close. */
  readonly #sockets = new Set<Socket>();
  /** The workers that the other end of a connection is, read from its certificate once. */
  readonly #senders = new WeakMap<Socket, readonly string[]>();

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
  }

  /** Resolves with the port. @throws Error where the address cannot be bound */
  async open({ host, port }: { host: string; port: number }, receiver: Receiver): Promise<number> {
    const { credentials } = this.#deps;
    const options = { requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const;
    const server = createServer({
      ...credentials.current,
      ...options,
      maxHeaderSize: headerBytesMax,
      handshakeTimeout: handshakeMs,
      headersTimeout: headersMs,
      keepAliveTimeout: keepAliveMs,
      // Bodies have the time that the service gives them.
      requestTimeout: 0,
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    });
    credentials.onChanged((next) => server.setSecureContext({ ...next, minVersion: options.minVersion }));
    server.on('request', (request, response) => this.#take(request, response, receiver));
    server.on('upgrade', (request, socket, head) => this.#takeUpgrade(request, { socket, head }, receiver));
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('tlsClientError', (err, socket) => {
      this.#deps.log.warn({ err, address: socket.remoteAddress }, 'connection to the fleet listener refused');
    });
    server.listen(port, host);
    await once(server, 'listening');
    this.#server = server;
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = null;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // A connection that finished its handshake from now on would stay for as long as the other worker keeps it.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #take(request: IncomingMessage, response: ServerResponse, receiver: Receiver): void {
    if (request.url === viewPath) return this.#answerView(response);
    const call = this.#callOf(request);
    if (call) return receiver.receive(request, response, call);
    const { status, headers, body } = toErrorResponse(noIdentity(), newId('req'));
    response.writeHead(status, { ...headers, 'content-type': 'application/json; charset=utf-8', connection: 'close' });
    response.end(`${body}\n`);
  }

  /** Answers any worker of the fleet, as its certificate shows. The answer has nothing of a caller in it, so no caller is needed. */
  #answerView(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify({ age_ms: this.#deps.viewAgeMs() }));
  }

  #takeUpgrade(request: IncomingMessage, upgrade: { socket: Duplex; head: Buffer }, receiver: Receiver): void {
    const call = this.#callOf(request);
    if (call) receiver.receiveUpgrade(request, upgrade, call);
    else refuse(upgrade.socket, noIdentity(), newId('req'));
  }

  /** The request's caller, whom the worker vouches for that the certificate names. */
  #callOf(request: IncomingMessage): ForwardedCall | null {
    const { identities, workerId: to, clock, log } = this.#deps;
    const { method = '', url: target = '', headers } = request;
    const token = headers[identityHeader];
    const senders = this.#sendersOf(request.socket as TLSSocket);
    if (typeof token === 'string')
      for (const from of senders) {
        const call = identities.verify(token, { from, to, method, target }, clock.now());
        if (call) return { ...call, from };
      }
    log.warn({ senders }, 'request without a valid identity refused');
    return null;
  }

  #sendersOf(socket: TLSSocket): readonly string[] {
    const senders = this.#senders.get(socket) ?? workersOf(socket.getPeerCertificate());
    this.#senders.set(socket, senders);
    return senders;
  }
}

const noIdentity = (): ServiceError => new ServiceError('bad_request', 'This listener is for the workers of a fleet.');
