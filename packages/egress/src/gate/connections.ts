/** Plain HTTP over planned connections: those of a browser's requests and of the service's own. */
import { Agent, request as httpRequest, type ClientRequest, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { orAbort } from '@berth/lib/or-abort.ts';
import { authorityText } from '../names/addresses.ts';
import { handshakeFailure } from '../client/failure.ts';
import { startTls, toBasicCredentials, type UpstreamAddress } from './dial.ts';
import type { PinnedTarget } from './guard.ts';
import { EgressError } from '../policy.ts';
import type { Tunnel } from './tunnel.ts';
import { writtenHeadBytesMax } from '../client/reply-head.ts';
import { ReplyRefusedError, ReplyHeads } from '../client/reply-heads.ts';

/** How one request leaves: the checked addresses and the proxy. */
export interface RoutePlan {
  target: PinnedTarget;
  proxy: { upstream: UpstreamAddress; pinned: PinnedTarget; index: number } | null;
  /** Leads to the caller's own computer; then the target has no addresses. */
  tunnel?: Tunnel;
  /** Increments with each policy and rotation: a connection of an older generation is never reused. */
  generation: number;
  /** Sends the absolute URL to the proxy, as for plain HTTP (RFC 9112, 3.2.2), instead of opening a tunnel. */
  usesAbsoluteForm: boolean;
}

/** Opens the connection of a plan. `onTcpSocket` gets the TCP socket below it, on which bytes are counted. */
export type OpenConnection = (plan: RoutePlan, signal: AbortSignal, onTcpSocket: (socket: Socket) => void) => Promise<Socket>;

/** The target of a connection, and how it is opened. */
interface ConnectionOptions {
  plan: RoutePlan;
  /** null for plain HTTP. */
  tls: { ignoresErrors: boolean } | null;
  signal: AbortSignal;
  onTcpSocket: (socket: Socket) => void;
}

type AgentRequest = ClientRequestArgs & { connection: ConnectionOptions };

/** Keeps connections for the next request of an equal plan. */
export class Connections extends Agent {
  readonly #open: OpenConnection;
  readonly #idleMax: number;
  readonly #ca: string | undefined;
  readonly #opened = new WeakMap<Duplex, OpenedConnection>();

  constructor(
    open: OpenConnection,
    { keepAliveMs, idlePerSiteMax, idleMax, ca }: { keepAliveMs: number; idlePerSiteMax: number; idleMax: number; ca?: string | undefined },
  ) {
    super({ keepAlive: true, maxFreeSockets: idlePerSiteMax, timeout: keepAliveMs });
    this.#open = open;
    this.#idleMax = idleMax;
    this.#ca = ca;
  }

  override getName(options?: Partial<AgentRequest>): string {
    const { connection } = options ?? {};
    return connection ? toConnectionKey(connection) : '';
  }

  override createConnection(options: ClientRequestArgs, onOpened: (error: Error | null, stream: Duplex) => void): undefined {
    this.#connect((options as AgentRequest).connection).then(
      (stream) => onOpened(null, stream),
      (error: Error) => onOpened(error, undefined as never),
    );
  }

  override keepSocketAlive(stream: Duplex): boolean {
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    // Node returns whether it keeps the socket, which its types do not say.
    const keeps = super.keepSocketAlive(stream) as unknown as boolean;
    return idle < this.#idleMax && keeps;
  }

  opened(stream: Duplex): OpenedConnection | undefined {
    return this.#opened.get(stream);
  }

  async #connect({ plan, tls, signal, onTcpSocket }: ConnectionOptions): Promise<Socket> {
    let tcpSocket: Socket | undefined;
    const plain = await this.#open(plan, signal, (socket) => onTcpSocket((tcpSocket = socket)));
    const stream = tls ? await this.#secure(plain, { host: plan.target.host, signal, ...tls }) : plain;
    this.#opened.set(stream, { tcpSocket, heads: new ReplyHeads(stream, authorityText(plan.target.host, plan.target.port)) });
    return stream;
  }

  #secure(plain: Socket, { ignoresErrors, ...options }: { host: string; signal: AbortSignal; ignoresErrors: boolean }): Promise<Socket> {
    return startTls(plain, { ...options, ca: this.#ca, rejectUnauthorized: !ignoresErrors }).catch((error: unknown) => {
      throw options.signal.aborted ? options.signal.reason : handshakeFailure(error);
    });
  }
}

interface OpenedConnection {
  tcpSocket: Socket | undefined;
  heads: ReplyHeads;
}

/** Equal for requests that may share a connection. */
const toConnectionKey = ({ plan: { generation, proxy, usesAbsoluteForm, target }, tls }: ConnectionOptions): string =>
  `${tls ? `tls ${tls.ignoresErrors}` : 'plain'} ${generation} ${proxy?.index ?? 'direct'} ${usesAbsoluteForm} ` +
  `${target.port} ${target.host} ${target.addresses.join(' ')}`;

export interface PlannedRequest extends ConnectionOptions {
  url: URL;
  method: string;
  /** Names and values in turn. */
  headers: readonly string[];
  /** The body, or a function that writes and ends the request. */
  body: Buffer | ((outgoing: ClientRequest) => void) | null;
  /** Maximum time without a byte in either direction. */
  idleTimeoutMs: number;
}

export interface PlannedResponse {
  /** A connection that breaks later ends it without an error event. */
  response: IncomingMessage;
  /** Closes the connection, with what of the body has not been read. */
  drop: () => void;
}

/** A kept connection that was closed as it was taken is replaced; beyond this many the site closes them on purpose. */
const attemptsMax = 5;
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Informational responses before the real one. An honest site sends one or two. */
const informationMax = 32;

/**
 * Resolves with the head of the response. An idempotent request is sent again
 * when the site closes a kept connection just as it is taken (RFC 9110, 9.2.2).
 * @throws the connection's error, or the signal's reason
 */
export async function sendPlanned(connections: Connections, request: PlannedRequest): Promise<PlannedResponse> {
  const canRepeat = idempotent.has(request.method) && typeof request.body !== 'function';
  for (let attempt = 1; ; attempt += 1) {
    const outgoing = send(connections, request);
    try {
      return { response: await headOf(outgoing, request), drop: () => void outgoing.destroy() };
    } catch (error) {
      outgoing.destroy();
      if (!canRepeat || error instanceof ReplyRefusedError || !outgoing.reusedSocket || attempt >= attemptsMax || request.signal.aborted)
        throw error;
    }
  }
}

function send(connections: Connections, { url, method, headers, body, ...connection }: PlannedRequest): ClientRequest {
  const { plan, onTcpSocket } = connection;
  const path = `${url.pathname}${url.search}`;
  const credentials = plan.usesAbsoluteForm && plan.proxy ? toBasicCredentials(plan.proxy.upstream) : null;
  const options: AgentRequest & { insecureHTTPParser: boolean; maxHeaderSize: number } = {
    agent: connections,
    connection,
    method,
    path: plan.usesAbsoluteForm ? `http://${url.host}${path}` : path,
    headers: credentials === null ? headers : [...headers, 'Proxy-Authorization', credentials],
    setHost: false,
    // Heads are read and written again before this parser gets them.
    maxHeaderSize: writtenHeadBytesMax,
    // Browsers accept malformed chunks and values, so this does; each reply goes to one request only.
    insecureHTTPParser: true,
  };
  const outgoing = httpRequest(options);
  outgoing.once('socket', (socket) => {
    const { tcpSocket, heads } = connections.opened(socket) ?? {};
    if (tcpSocket) onTcpSocket(tcpSocket);
    heads?.expect();
  });
  if (typeof body === 'function') body(outgoing);
  else outgoing.end(body ?? undefined);
  return outgoing;
}

function headOf(outgoing: ClientRequest, { signal, idleTimeoutMs }: PlannedRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let informed = 0;
  outgoing.on('error', reject);
  outgoing.on('information', () => {
    informed += 1;
    if (informed > informationMax) outgoing.destroy(new EgressError('connection_reset', 'the site sends heads without end'));
  });
  // The agent sets the timeout of idle sockets, which is too short for a response.
  outgoing.once('socket', (socket) => socket.setTimeout(idleTimeoutMs));
  outgoing.setTimeout(idleTimeoutMs, () => outgoing.destroy(new EgressError('timeout', `no data for ${idleTimeoutMs} ms`)));
  outgoing.once('response', (response) => resolve(response.on('error', () => {})));
  outgoing.once('close', () => reject(new EgressError('connection_reset', 'the site closed the connection without a reply')));
  return orAbort(promise, signal);
}
