/** Customers' DevTools clients: who may open a socket, and the socket itself. */
import { ServiceError, closeCodes, type CloseReason, type ConnectInfo } from '@berth/contract';
import { BrowserGone, type DevtoolsClient } from '../browser/browser.ts';
import { ownerOf, type Credentials, type Principal, type Upgrade } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { Loop } from '../lib/loop.ts';
import { signToken, verifyToken } from '../lib/signed-token.ts';
import type { Keys } from '../keys/keys.ts';
import { endSession } from './end.ts';
import type { Connection, LiveSession } from './live.ts';
import { service } from './session.ts';
import type { Sessions } from './sessions.ts';

type Socket = Awaited<ReturnType<Upgrade['accept']>>;

/** How long a token opens sockets. An open socket lives as long as its session. */
const tokenSeconds = 300;
const connectionsMax = 32;
/** A client that reads this much slower than its browser speaks is cut off. */
const unreadBytesMax = 256 * 1024 * 1024;
/** Often enough that no proxy in between takes a quiet socket for a dead one. */
const pingMs = 20_000;

export class Connects {
  readonly #sessions: Sessions;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #secret: Buffer;
  /** Closes the sockets of revoked keys, also of those that another worker revoked. */
  readonly revocations = new Loop('socket-revocations', 1000, () => this.#closeRevoked());

  constructor(deps: { sessions: Sessions; keys: Keys; clock: Clock; secret: Buffer }) {
    this.#sessions = deps.sessions;
    this.#keys = deps.keys;
    this.#clock = deps.clock;
    this.#secret = deps.secret;
    deps.keys.onRevoked(() => this.revocations.nudge());
  }

  /** The guard of endpoints with auth `connect`: an API key in the header, or a token of the session in the path. */
  authenticate = async (credentials: Credentials): Promise<Principal> => {
    if (credentials.authorization !== undefined || credentials.token === undefined) return this.#keys.authenticate(credentials);
    const claims = verifyToken(this.#secret, credentials.token, 'connect', this.#clock.now());
    const good =
      claims &&
      claims.session === credentials.params['session_id'] &&
      (claims.keyId === null || (await this.#keys.deadAmong([claims.keyId])).length === 0);
    if (!good) throw new ServiceError('invalid_connect_token', 'This connect token is not valid. Ask for a new one with `GET …/connect`.');
    return { owner: claims.owner, keyId: claims.keyId, requestsPerMinute: null, scope: `owner:${claims.owner}` };
  };

  async info(principal: Principal, sessionId: string, origin: string): Promise<ConnectInfo> {
    const owner = ownerOf(principal);
    const { session, machine } = await this.#sessions.ready(owner, sessionId);
    const expiresAt = Math.floor(this.#clock.now().getTime() / 1000) + tokenSeconds;
    const token = signToken(this.#secret, { purpose: 'connect', owner, session: sessionId, keyId: principal.keyId, expiresAt });
    const cdpUrl = `${cdpAddress(origin, sessionId)}?token=${token}`;
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
        puppeteer: `const browser = await puppeteer.connect({ browserWSEndpoint: '${cdpUrl}' });`,
      },
    };
  }

  /** Answers an upgrade: refusals before the handshake, close codes with reasons after it. */
  async open(principal: Principal, sessionId: string, upgrade: Upgrade): Promise<void> {
    const { session, machine } = await this.#sessions.ready(ownerOf(principal), sessionId);
    const socket = await upgrade.accept();
    if (session.connections.size >= connectionsMax) return closeSocket(socket, 'limit');
    const connection: Connection = { keyId: principal.keyId, close: (reason) => closeSocket(socket, reason) };
    session.connections.add(connection);
    session.touch();
    // Listeners first: messages that come while the client is attached wait in `early`.
    const bridge = new Bridge(socket);
    socket.once('close', () => {
      bridge.close();
      session.connections.delete(connection);
      session.touch();
      this.#onLeft(session);
    });
    try {
      bridge.join(
        await machine.browser.connectClient({
          send: (message) => sendTo(socket, message),
          onClose: (reason) => this.#onClientClose(session, socket, reason),
        }),
      );
    } catch (error) {
      if (!(error instanceof BrowserGone)) throw error;
      closeSocket(socket, 'browser_crashed');
    }
    // The session may have ended while the handshake was under way.
    if (session.ending) closeSocket(socket, 'session_ended');
  }

  #onClientClose(session: LiveSession, socket: Socket, reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void {
    if (reason === 'browser_gone') return closeSocket(socket, 'browser_crashed');
    if (reason === 'protocol_error') return socket.close(1002, 'protocol_error');
    // `Browser.close` ends a session that is not to be kept alive, and takes leave of this client only otherwise.
    socket.close(1000, 'browser_close');
    if (!session.record.settings.keep_alive) this.#end(session);
  }

  #onLeft(session: LiveSession): void {
    if (session.record.settings.keep_alive || session.connections.size > 0 || session.ending) return;
    this.#end(session);
  }

  #end(session: LiveSession): void {
    // An end that the store cannot be told of is tried again by the timers.
    void endSession(this.#sessions.deps, session, { reason: 'cdp_closed', actor: service }).catch(() => undefined);
  }

  async #closeRevoked(): Promise<void> {
    const open = [...this.#sessions.live.values()].flatMap((session) => [...session.connections]);
    const keyIds = new Set(open.map((connection) => connection.keyId).filter((keyId) => keyId !== null));
    const dead = new Set(await this.#keys.deadAmong([...keyIds]));
    for (const connection of open) if (connection.keyId !== null && dead.has(connection.keyId)) connection.close('unauthorized');
  }
}

/** What a socket says reaches its client in order, also what it says before the client is there. */
class Bridge {
  #early: Buffer[] = [];
  #client: DevtoolsClient | null = null;
  #closed = false;
  readonly #ping: NodeJS.Timeout;

  constructor(socket: Socket) {
    socket.on('message', (data) => {
      // The socket gives one Buffer for each message: neither fragments nor array buffers are asked for.
      const message = data as Buffer;
      if (this.#client) this.#client.receive(message);
      else this.#early.push(message);
    });
    // A socket error is followed by its close, which does the clearing away.
    socket.on('error', () => undefined);
    this.#ping = setInterval(() => socket.ping(), pingMs);
    this.#ping.unref();
  }

  join(client: DevtoolsClient): void {
    if (this.#closed) return client.close();
    this.#client = client;
    for (const message of this.#early) client.receive(message);
    this.#early = [];
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#ping);
    this.#client?.close();
  }
}

/** Where a session's DevTools socket is, without a secret. */
export const cdpAddress = (origin: string, sessionId: string): string => `${origin.replace(/^http/, 'ws')}/v1/session/${sessionId}/cdp`;

function sendTo(socket: Socket, message: string | Buffer): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.bufferedAmount > unreadBytesMax) {
    closeSocket(socket, 'limit');
    return false;
  }
  socket.send(message, { binary: false });
  return true;
}

function closeSocket(socket: Socket, reason: CloseReason): void {
  socket.close(closeCodes[reason], reason);
}
