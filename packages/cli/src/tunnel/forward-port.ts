/**
 * A port on loopback that looks like that of a Chromium: discovery, and sockets that are passed to the service with the key.
 * Sockets are passed on byte by byte, so extensions and close codes are those of the service, and whoever reads slowly is waited for.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as requestHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError, describeFailure, exitCodes } from '../failures.ts';

const host = '127.0.0.1';
/** Twice what one session takes; each is a connection to the service, too. */
const connectionsMax = 64;
/** A service that is there answers a handshake at once. */
const handshakeMsMax = 30_000;
/** Maximum size of a refusal that is passed on; those of the service are shorter. */
const refusalBytesMax = 16_384;
/** Finds that the other side has vanished, through a router that forgets silent connections after a minute. */
const keepAliveMs = 30_000;

/** A connection to a browser that the service lets this one have. */
export interface Connection {
  sessionId: string;
  /** Called once, when the client has gone or never came. */
  release(wasConnected: boolean): void;
}

/** Browsers as the port shows them. */
export interface Browsers {
  version(): Promise<object>;
  list(): Promise<readonly object[]>;
  protocol(): Promise<object>;
  connect(): Promise<Connection>;
}

export interface Told {
  event: 'session_started' | 'connected' | 'disconnected' | 'failed';
  session_id?: string;
  code?: string;
  message?: string;
}

export interface PortOptions {
  browsers: Browsers;
  service: { url: string; apiKey: string };
  tell: (told: Told) => void;
}

export class ForwardPort {
  readonly #options: PortOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #passing = new Set<Promise<void>>();
  /** Who has not read it from the discovery does not find the socket. */
  readonly #path = `/devtools/browser/${randomUUID()}`;
  #port = 0;

  constructor(options: PortOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.maxConnections = connectionsMax;
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const passing = this.#upgrade(request, socket, head).finally(() => this.#passing.delete(passing));
      this.#passing.add(passing);
    });
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, host);
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      throw toPortError(error, port);
    }
    this.#port = (this.#server.address() as { port: number }).port;
  }

  get address(): string {
    return `http://${host}:${this.#port}`;
  }

  get cdpUrl(): string {
    return `ws://${host}:${this.#port}${this.#path}`;
  }

  /** Closes all connections, and resolves when everything that was started for them is released. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await Promise.all(this.#passing);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    const { status, body } = await this.#discover(request);
    response
      .writeHead(status, {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      .end(JSON.stringify(body));
  }

  async #discover(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const foreign = whyForeign(request);
    if (foreign !== undefined) return refusal(403, 'origin_not_allowed', foreign);
    const { browsers } = this.#options;
    try {
      switch (pathOf(request)) {
        case '/json/version':
          return { status: 200, body: this.#here(await browsers.version()) };
        case '/json':
        case '/json/list':
          return { status: 200, body: (await browsers.list()).map((page) => this.#here(page)) };
        case '/json/protocol':
          return { status: 200, body: await browsers.protocol() };
        default:
          return refusal(404, 'not_found', 'This port serves /json/version, /json/list and /json/protocol.');
      }
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** The document with the address of the socket on this port in the place of the service's. */
  #here(document: object): object {
    return { ...document, webSocketDebuggerUrl: this.cdpUrl };
  }

  #fail(error: unknown): { status: number; body: unknown } {
    const { code, message } = describeFailure(error);
    this.#options.tell({ event: 'failed', code, message });
    return refusal((error as { status?: number | null }).status ?? 502, code, message);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // A client that goes away before the end is no error of ours.
    socket.on('error', () => {});
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const foreign = whyForeign(request);
    if (foreign !== undefined) return refuse(socket, refusal(403, 'origin_not_allowed', foreign));
    if (pathOf(request) !== this.#path) return refuse(socket, refusal(404, 'not_found', 'The address of the socket is in /json/version.'));
    try {
      const connection = await this.#options.browsers.connect();
      await this.#passOn(request, socket, { head, connection });
    } catch (error) {
      if (!socket.destroyed) refuse(socket, this.#fail(error));
    }
  }

  async #passOn(request: IncomingMessage, socket: Duplex, { head, connection }: { head: Buffer; connection: Connection }): Promise<void> {
    const { sessionId, release } = connection;
    let wasConnected = false;
    try {
      if (socket.destroyed) return;
      const opened = await this.#openSocket(request, socket, sessionId);
      if ('refused' in opened) return refuse(socket, opened.refused);
      wasConnected = true;
      this.#options.tell({ event: 'connected', session_id: sessionId });
      opened.socket.write(head);
      socket.write(opened.reply);
      await Promise.allSettled([pipeline(socket, opened.socket), pipeline(opened.socket, socket)]);
      this.#options.tell({ event: 'disconnected', session_id: sessionId });
    } finally {
      release(wasConnected);
    }
  }

  /** Asks the service for the same handshake, and returns what it has replied. */
  async #openSocket(request: IncomingMessage, client: Duplex, sessionId: string): Promise<Opened> {
    const { url, apiKey } = this.#options.service;
    const target = new URL(`${url}/v1/session/${sessionId}/cdp`);
    const send = target.protocol === 'https:' ? requestHttps : requestHttp;
    const asked = send(target, {
      headers: { ...handshakeOf(request), authorization: `Bearer ${apiKey}` },
      agent: false,
      timeout: handshakeMsMax,
    });
    asked.once('timeout', () => asked.destroy(new Error('The service did not answer the handshake.')));
    const abandon = (): void => void asked.destroy();
    client.once('close', abandon);
    try {
      return await new Promise<Opened>((resolve, reject) => {
        asked.once('upgrade', (reply, socket, first) => resolve(toOpened(reply, { client: client as Socket, socket, first })));
        asked.once('response', (reply) => void readRefusal(reply).then((refused) => resolve({ refused }), reject));
        asked.once('error', reject).end();
      });
    } finally {
      client.off('close', abandon);
    }
  }
}

type Socket = IncomingMessage['socket'];

interface Refusal {
  status: number;
  body: unknown;
}

type Opened = { refused: Refusal } | { socket: Duplex; reply: Buffer };

const refusal = (status: number, code: string, message: string): Refusal => ({ status, body: { error: { code, message } } });

/** The names of loopback. Another one was bound to it by somebody else, for pages in the user's own browser. */
const ownHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/** Says why a request comes from a page, or by a name that is not of this computer; undefined for programs. */
function whyForeign({ headers }: IncomingMessage): string | undefined {
  if (!ownHost.test(headers.host ?? '')) return 'Use the address 127.0.0.1 or localhost.';
  // Some clients name the address that they connect to as their origin. Nothing that this port serves runs as a page.
  if (headers.origin !== undefined && headers.origin.toLowerCase() !== `http://${headers.host}`.toLowerCase())
    return 'Pages cannot use this port.';
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'none' || site === 'same-origin' ? undefined : 'Pages cannot use this port.';
}

/** The path without what clients put behind it. */
const pathOf = ({ url = '/' }: IncomingMessage): string => (url.split('?', 1)[0] ?? '').replace(/\/$/, '');

/** Headers of a handshake. All others, such as cookies, stay here. */
function handshakeOf({ headers }: IncomingMessage): Record<string, string> {
  const passed = ['connection', 'upgrade', 'user-agent', 'sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions'];
  return Object.fromEntries(passed.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])));
}

function toOpened(reply: IncomingMessage, { client, socket, first }: { client: Socket; socket: Socket; first: Buffer }): Opened {
  for (const each of [client, socket]) {
    each.setTimeout(0);
    each.setNoDelay(true);
    each.setKeepAlive(true, keepAliveMs);
  }
  const passed = ['connection', 'upgrade', 'sec-websocket-accept', 'sec-websocket-extensions'];
  const lines = passed.flatMap((name) => (typeof reply.headers[name] === 'string' ? [`${name}: ${reply.headers[name]}`] : []));
  const head = ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');
  return { socket, reply: Buffer.concat([Buffer.from(head, 'latin1'), first]) };
}

export async function readRefusal(reply: IncomingMessage): Promise<Refusal> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > refusalBytesMax) break;
    chunks.push(chunk);
  }
  const status = reply.statusCode ?? 502;
  try {
    return { status, body: JSON.parse(Buffer.concat(chunks).toString()) };
  } catch {
    return refusal(status, 'refused', `The service refused the connection with ${status}.`);
  }
}

function refuse(socket: Duplex, { status, body }: Refusal): void {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}

function toPortError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new CommandError(exitCodes.failed, 'port_taken', `Port ${port} is taken.`, 'Name another one, or 0 for any: berth forward 0');
  if (code === 'EACCES') return new CommandError(exitCodes.failed, 'port_refused', `Port ${port} needs root.`, 'Name one above 1023.');
  return error;
}
