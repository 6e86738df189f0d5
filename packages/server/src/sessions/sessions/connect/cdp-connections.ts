/** DevTools sockets of API clients: authentication, tokens and the sockets themselves. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, closeCodes, type CloseReason, type ConnectInfo, type ConnectRequest, type openConnect } from '@berth/contract';
import { BrowserClosedError, type DevtoolsClient } from '@berth/devtools';
import type { Call, Upgrade } from '../../../http/call.ts';
import { bearerOf, ownerOf, type Credentials, type Principal } from '../../../accounts/principals/principals.ts';
import { ClientDisconnectedError } from '../../../http/server/exchange.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { openToken, sealToken } from '@berth/lib/secrets/sealed-token.ts';
import { WriteGroup } from '@berth/lib/turns/write-group.ts';
import { connectTokenPrefix } from '@berth/lib/secrets/credential-prefixes.ts';
import { invalidConnectToken, type ConnectTokens, type Keys } from '../../../accounts/keys/keys.ts';
import type { Owners } from '../../../accounts/owners/owners.ts';
import type { Connection, LiveSession } from '../live.ts';
import { copyDownload } from './local-downloads.ts';
import { reconnectOf, type Reconnect } from './reconnect.ts';
import { service, type SessionRecord } from '../session.ts';
import { AddressInUseError, sessionEndedError, sessionNotFound, type Machine, type RunningSession, type Sessions } from '../sessions.ts';

type Socket = Awaited<ReturnType<Upgrade['accept']>>;

/** Lifetime of a token of a session. Open sockets outlive it and close with their session. */
const tokenSeconds = 300;
const connectionsMax = 32;
/** Often enough that proxies do not close an idle socket. */
const pingMs = 20_000;
/** A client that has not read more than this is read a message at a time: what waits for it is written in one turn. */
const unreadBytesMax = 256 * 1024;
/** Wait while a client has much unread. It does not last until all is read: some clients read nothing while they send. */
const unreadWaitMs = 10;

/** A session of an address may end while a client waits for it, and so may the next one. */
const attemptsMax = 3;

const asText = { binary: false };

interface CdpConnectionsDeps {
  sessions: Sessions;
  keys: Keys;
  tokens: ConnectTokens;
  owners: Pick<Owners, 'tierOf'>;
  clock: Clock;
  secret: Buffer;
  log: Log;
  /** Whether only this computer can reach the service, so that all clients are on it. */
  isLoopbackOnly: boolean;
}

export class CdpConnections {
  readonly #sessions: Sessions;
  readonly #keys: Keys;
  readonly #tokens: ConnectTokens;
  readonly #owners: Pick<Owners, 'tierOf'>;
  readonly #clock: Clock;
  readonly #secret: Buffer;
  readonly #log: Log;
  readonly #isLoopbackOnly: boolean;
  /** Closes sockets of revoked keys and connect tokens, also of those revoked on another worker. */
  readonly revocations = new Loop('socket-revocations', 1000, () => this.#closeRevoked());

  constructor(deps: CdpConnectionsDeps) {
    this.#sessions = deps.sessions;
    this.#keys = deps.keys;
    this.#tokens = deps.tokens;
    this.#owners = deps.owners;
    this.#clock = deps.clock;
    this.#secret = deps.secret;
    this.#log = deps.log;
    this.#isLoopbackOnly = deps.isLoopbackOnly;
    for (const credentials of [deps.keys, deps.tokens]) credentials.onRevoked(() => this.revocations.nudge());
  }

  /**
   * Authenticates endpoints with auth `connect`: an API key or a connect token in
   * the header, a connect token in the URL, or a token of the session in the path.
   */
  authenticate = async (credentials: Credentials): Promise<Principal> => {
    const inHeader = bearerOf(credentials);
    if (inHeader?.startsWith(connectTokenPrefix)) return this.#tokens.authenticate(inHeader);
    if (credentials.authorization !== undefined || credentials.token === undefined) return this.#keys.authenticate(credentials);
    return this.#authenticateToken(credentials.token, credentials.params['session_id']);
  };

  /** Authenticates endpoints with auth `connectPath`. */
  authenticatePath = ({ token = '' }: Credentials): Promise<Principal> => this.#tokens.authenticate(token);

  async #authenticateToken(token: string, sessionId: string | undefined): Promise<Principal> {
    if (token.startsWith(connectTokenPrefix) || sessionId === undefined) return this.#tokens.authenticate(token);
    const claims = await openToken(this.#secret, token, 'connect', this.#clock.now());
    const isValid =
      claims?.session === sessionId && (claims.keyId === null || (await this.#keys.findInactive([claims.keyId])).length === 0);
    if (!isValid) throw invalidConnectToken(token);
    const { requests_per_minute: requestsPerMinute } = await this.#owners.tierOf(claims.owner);
    return { owner: claims.owner, keyId: claims.keyId, requestsPerMinute, scope: `owner:${claims.owner}` };
  }

  /** A session that this caller may connect to: with a connect token only one that it created. @throws ServiceError as `Sessions.ready` */
  async ready({ principal, signal }: Pick<Call, 'principal' | 'signal'>, sessionId: string): Promise<RunningSession> {
    await this.assertMayDrive(principal, sessionId);
    return this.#sessions.ready(ownerOf(principal), sessionId, { signal });
  }

  /** @throws ServiceError session_not_found for a connect token that did not create the session */
  async assertMayDrive(principal: Principal, sessionId: string): Promise<void> {
    if (principal.connectTokenId === undefined) return;
    const { record } = await this.#sessions.get(ownerOf(principal), sessionId);
    if (!mayDrive(principal, record)) throw sessionNotFound();
  }

  async info({ principal, origin, signal }: Pick<Call, 'principal' | 'origin' | 'signal'>, sessionId: string): Promise<ConnectInfo> {
    const owner = ownerOf(principal);
    const { session, machine } = await this.#sessions.ready(owner, sessionId, { signal });
    const expiresAt = Math.floor(this.#clock.now().getTime() / 1000) + tokenSeconds;
    const token = await sealToken(this.#secret, { purpose: 'connect', owner, session: sessionId, keyId: principal.keyId, expiresAt });
    const cdpUrl = `${toCdpUrl(origin, sessionId)}?token=${token}`;
    return {
      session_id: sessionId,
      status: session.status,
      cdp_url: cdpUrl,
      cdp_http_url: `${origin}/v1/session/${sessionId}/cdp`,
      token,
      token_type: 'connect',
      expires_at: new Date(expiresAt * 1000).toISOString(),
      protocol: machine.browser.version.protocolVersion,
      browser: machine.browser.version.product,
      snippets: {
        playwright: `const browser = await chromium.connectOverCDP('${cdpUrl}');`,
        // Without it, Puppeteer makes every page 800×600.
        puppeteer: `const browser = await puppeteer.connect({ browserWSEndpoint: '${cdpUrl}', defaultViewport: null });`,
      },
    };
  }

  /** Opens a DevTools socket. Throws before the handshake; closes with a code and a reason after it. */
  async open(call: Pick<Call, 'principal' | 'signal'>, sessionId: string, upgrade: Upgrade): Promise<void> {
    refusePlaywrightServerClients(upgrade);
    await this.#open(call.principal, await this.ready(call, sessionId), upgrade);
  }

  /**
   * Creates a session and opens its DevTools socket. Throws before the handshake;
   * then, and when the client is not there any more, the session ends.
   */
  async create({ principal, query, signal }: Call<typeof openConnect>, upgrade: Upgrade): Promise<void> {
    refusePlaywrightServerClients(upgrade);
    const left = new AbortController();
    // Nobody reads the connection before the handshake, so it would not close.
    upgrade.socket.once('end', () => left.abort(new ClientDisconnectedError()));
    const client = AbortSignal.any([signal, left.signal]);
    const reconnect = reconnectOf(principal, query);
    if (reconnect) return this.#connectAgain(principal, query, { reconnect, client, upgrade });
    this.#sessions.assertTakesWork();
    const { record } = await this.#sessions.create(principal, query, { wait: true, signal: client });
    const session = this.#sessions.live.get(record.sessionId);
    try {
      const machine = session?.machine;
      if (!session || !machine || session.ending) throw sessionEndedError(session?.record ?? record);
      // Clients expect the first page. A browser that has exited closes the socket with its reason.
      await orAbort(machine.browser.tabReady(), client).catch(() => client.throwIfAborted());
      await this.#open(principal, { session, machine }, upgrade);
    } catch (error) {
      if (session) this.#end(session);
      throw error;
    }
  }

  /**
   * Opens the DevTools socket of the address's session, and creates it where there is none. Clients that come together
   * share one, also when it ends before they have it: then the next is created.
   */
  async #connectAgain(
    principal: Principal,
    query: ConnectRequest,
    { reconnect, client, upgrade }: { reconnect: Reconnect; client: AbortSignal; upgrade: Upgrade },
  ): Promise<void> {
    const owner = ownerOf(principal);
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#sessions.idOfAddress(principal, query);
      try {
        const sessionId = found ?? (await this.#createAt(principal, query, { reconnect, client }));
        // Before a crash of this worker it had a browser, which is gone.
        if (found !== undefined && !this.#sessions.isHeld(found)) await this.#sessions.recover();
        else await orAbort(this.#sessions.started(sessionId), client);
        const running = await this.#sessions.ready(owner, sessionId, { signal: client });
        return await this.#open(principal, running, upgrade);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'worker_unreachable') throw runsElsewhere(error);
        const isOther = error instanceof AddressInUseError || (found !== undefined && isGone(error));
        if (attempt >= attemptsMax || client.aborted || !isOther) throw error;
      }
    }
  }

  /** Creates the session of an address, which waits for its clients from then on. */
  async #createAt(
    principal: Principal,
    query: ConnectRequest,
    { reconnect, client }: { reconnect: Reconnect; client: AbortSignal },
  ): Promise<string> {
    const { sessionId } = (await this.#sessions.create(principal, query, { wait: true, signal: client, reconnect })).record;
    this.#sessions.live.get(sessionId)?.awaitClients();
    return sessionId;
  }

  async #open(principal: Principal, { session, machine }: RunningSession, upgrade: Upgrade): Promise<void> {
    const socket = await upgrade.accept({ sessionId: session.record.sessionId });
    if (session.connections.size >= connectionsMax) return closeSocket(socket, 'limit');
    const bridge = new Bridge(socket);
    const writes = new WriteGroup(upgrade.socket);
    const close = (reason: Parameters<Connection['close']>[0]): void => {
      bridge.end();
      closeSocket(socket, reason);
    };
    const credentialIds = [principal.keyId, principal.connectTokenId].filter((id) => typeof id === 'string');
    const connection: Connection = { credentialIds, close };
    session.connections.add(connection);
    session.onClientConnected();
    session.touch();
    socket.once('close', () => {
      bridge.close();
      session.connections.delete(connection);
      session.touch();
      this.#onDisconnect(session);
    });
    try {
      bridge.attach(
        await machine.browser.connectClient({
          send: (message) => {
            if (!upgrade.hasRoom(socket)) return false;
            writes.add();
            socket.send(message, asText);
            return true;
          },
          onClose: (reason) => this.#onClientClose(session, socket, reason),
          copyDownload: this.#isLoopbackOnly ? (id, folder) => this.#copyDownload(machine, id, folder) : undefined,
        }),
      );
    } catch (error) {
      if (!(error instanceof BrowserClosedError)) throw error;
      closeSocket(socket, 'browser_crashed');
    }
    // The session may have ended during the handshake.
    if (session.ending) close('session_ended');
  }

  async #copyDownload(machine: Machine, id: string, folder: string): Promise<void> {
    await copyDownload(machine, id, folder).catch((error: unknown) => this.#log.debug({ err: error }, 'download copy skipped'));
  }

  #onClientClose(session: LiveSession, socket: Socket, reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void {
    if (reason === 'browser_gone') return closeSocket(socket, 'browser_crashed');
    if (reason === 'protocol_error') return socket.close(1002, 'protocol_error');
    // `Browser.close` ends the session, or with `keep_alive` only this connection.
    socket.close(1000, 'browser_close');
    if (!session.record.settings.keep_alive) this.#end(session);
  }

  #onDisconnect(session: LiveSession): void {
    if (session.record.settings.keep_alive || session.connections.size > 0 || session.ending) return;
    if (!session.awaitClients()) this.#end(session);
  }

  #end(session: LiveSession): void {
    // When the store is unavailable, the timers retry the end.
    void this.#sessions.end(null, session.record.sessionId, { reason: 'cdp_closed', actor: service }).catch(() => undefined);
  }

  async #closeRevoked(): Promise<void> {
    const sessions = [...this.#sessions.live.values()];
    const openConnections = sessions.flatMap(({ connections, tunnels }) => [...connections, ...tunnels.values()]);
    // A session that waits at its address has no connection, and the credential of those who may come.
    const idsOf = ({ isAwaitingClients, record: { keyId, settings } }: LiveSession): string[] =>
      isAwaitingClients ? [keyId, settings.connect_token_id].filter((id) => typeof id === 'string') : [];
    const ids = [...new Set([...openConnections.flatMap(({ credentialIds }) => credentialIds), ...sessions.flatMap(idsOf)])];
    const [tokenIds, keyIds] = [ids.filter((id) => isId('tok', id)), ids.filter((id) => !isId('tok', id))];
    const revoked = new Set((await Promise.all([this.#keys.findInactive(keyIds), this.#tokens.findInactive(tokenIds)])).flat());
    for (const session of sessions) {
      const isRevoked = idsOf(session).some((id) => revoked.has(id));
      // Nobody could connect to its address any more.
      if (isRevoked && session.record.settings.reconnect && !session.ending) this.#end(session);
    }
    for (const connection of openConnections) if (connection.credentialIds.some((id) => revoked.has(id))) connection.close('unauthorized');
  }
}

/** Another worker was faster. Placement asks that one, too, where a worker has no room. */
const runsElsewhere = (cause: ServiceError): ServiceError =>
  new ServiceError('no_capacity', 'The browser of this address runs on another worker. Try again in a moment.', {
    cause,
    retryAfterSeconds: 1,
  });

/** Whether the session of the address is over by now. */
const isGone = (error: unknown): boolean => error instanceof ServiceError && goneCodes.has(error.code);
const goneCodes: ReadonlySet<string> = new Set(['session_ended', 'session_lost', 'session_not_found']);

/** Whether a caller may connect to a session of its owner: with a connect token only to one that it created. */
export const mayDrive = ({ connectTokenId }: Principal, { settings }: SessionRecord): boolean =>
  connectTokenId === undefined || settings.connect_token_id === connectTokenId;

/** Passes a socket's messages to its DevTools client in order, and reads the socket only as fast as the client takes them. */
class Bridge {
  /** Messages of a chunk that was read before the socket paused. */
  #waiting: Buffer[] = [];
  #client: DevtoolsClient | null = null;
  #isPaused = true;
  #closed = false;
  readonly #socket: Socket;
  readonly #ping: NodeJS.Timeout;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Paused until the client is attached.
    socket.pause();
    socket.on('message', (data) => {
      // `ws` delivers one Buffer per message with its default `binaryType`.
      this.#waiting.push(data as Buffer);
      if (!this.#isPaused) this.#pass();
    });
    // A `close` event follows and cleans up.
    socket.on('error', () => undefined);
    this.#ping = setInterval(() => socket.ping(), pingMs);
    this.#ping.unref();
  }

  attach(client: DevtoolsClient): void {
    if (this.#closed) return client.close();
    this.#client = client;
    this.#continue();
  }

  /** The client sees its targets detached before the socket closes. */
  end(): void {
    this.#client?.end();
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
    clearInterval(this.#ping);
    this.#client?.close();
  }

  #continue = (): void => {
    this.#isPaused = false;
    this.#pass();
    if (!this.#isPaused) this.#socket.resume();
  };

  #untilRead(): Promise<void> | undefined {
    return this.#socket.bufferedAmount > unreadBytesMax ? sleep(unreadWaitMs) : undefined;
  }

  #pass(): void {
    for (let message = this.#waiting.shift(); message && !this.#isPaused; message = this.#waiting.shift()) {
      const room = this.#client?.receive(message) ?? this.#untilRead();
      if (!room) continue;
      this.#isPaused = true;
      this.#socket.pause();
      void room.then(this.#continue);
      return;
    }
  }
}

/** The URL of a session's DevTools socket, without a token. */
export const toCdpUrl = (origin: string, sessionId: string): string => `${origin.replace(/^http/, 'ws')}/v1/session/${sessionId}/cdp`;

function closeSocket(socket: Socket, reason: CloseReason): void {
  socket.close(closeCodes[reason], reason);
}

/**
 * Playwright's `connect` speaks a protocol of its own, to a Playwright server. It would wait in vain for an answer to its
 * first message, so it is refused before the handshake; it shows the text.
 * @throws ServiceError bad_request
 */
function refusePlaywrightServerClients({ request }: Pick<Upgrade, 'request'>): void {
  const isServerClient = ['x-playwright-proxy', 'x-playwright-browser'].some((name) => request.headers[name] !== undefined);
  if (isServerClient)
    throw new ServiceError(
      'bad_request',
      'This address speaks the DevTools protocol, not that of a Playwright server. Use chromium.connectOverCDP(url), not connect(url). ' +
        'In Playwright Test, override the fixture `browser` with it and leave connectOptions out; in Crawlee, connect in a launcher.',
    );
}
