/** View and VNC tokens: issued, exchanged for cookies, revoked, and checked while their connections are open. */
import {
  ServiceError,
  type ViewTokenRequest,
  type ViewTokenResponse,
  type VncTokenRequest,
  type VncTokenResponse,
  type SessionStatus,
} from '@berth/contract';
import type { Call } from '../../http/call.ts';
import { ownerOf, type Credentials, type Guard, type Principal } from '../../accounts/principals/principals.ts';
import { viewCookieName } from '../../http/view-cookie.ts';
import type { Keys } from '../../accounts/keys/keys.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId, newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { openToken, sealToken } from '@berth/lib/secrets/sealed-token.ts';
import type { Tier } from '../../accounts/owners/owners.ts';
import { sessionEndedError, type SessionRecord, type Sessions } from '../../sessions/sessions/sessions.ts';
import { Cookies } from './cookies.ts';
import type { Link } from './grants.ts';
import { pruneRevocations, revocationsOf, writeRevocation } from './store.ts';
import type { Store } from '../../store/store.ts';

export interface TokensDeps extends TokenValidityDeps {
  keys: Pick<Keys, 'authenticate' | 'findInactive' | 'onRevoked'>;
  owners: { tierOf(owner: string): Promise<Pick<Tier, 'requests_per_minute'>> };
  sessions: Pick<Sessions, 'get' | 'onEnded'>;
  clock: Clock;
  secret: Buffer;
  log: Log;
  /** Whether other workers work on the same database. */
  hasPeers: boolean;
}

/** What a token is sealed for. A token of one purpose is invalid for the other. */
type Purpose = 'view' | 'vnc';
type Scope = Link['scope'];
type CloseConnection = (reason: 'unauthorized' | 'session_ended') => void;

const pruneIntervalMs = 3_600_000;
/** Longer than any recording is retained, so a revoked link never becomes valid again. */
const revocationRetentionMs = 400 * 86_400_000;

export class Tokens {
  readonly #deps: TokensDeps;
  readonly #cookies: Cookies;
  /** Open connections by their link. */
  readonly #connections = new Map<Link, CloseConnection>();
  /** The latest time at which this worker issued or revoked a link. */
  #lastTimestampMs = 0;
  readonly #revocations = new Loop('view-revocations', 1000, () => this.#closeInvalid());
  readonly loops: readonly Loop[] = [this.#revocations, new Loop('view-pruning', pruneIntervalMs, () => this.#prune())];

  constructor(deps: TokensDeps) {
    this.#deps = deps;
    const { clock, log, store, hasPeers } = deps;
    this.#cookies = new Cookies({ shared: hasPeers ? store : null, clock, log });
    deps.keys.onRevoked(() => this.#revocations.nudge());
    deps.sessions.onEnded(({ sessionId }) => this.#closeEnded(sessionId));
  }

  /** Guard of the live view. */
  authenticateView: Guard = (credentials) => this.#authenticate(credentials, 'view', ['view', 'control']);

  /** Guard of the browser window (VNC). */
  authenticateVnc: Guard = (credentials) => this.#authenticate(credentials, 'vnc', ['vnc']);

  /** Guard of recordings: accepts a recording link, a live view link while the session runs, or an API key. */
  authenticateRecording: Guard = async (credentials) => {
    try {
      return await this.#authenticate(credentials, 'view', ['recording', 'view', 'control']);
    } catch (error) {
      // Browsers send stale cookies unasked, so an API key takes precedence over an invalid cookie.
      const isByKey = credentials.authorization !== undefined && error instanceof ServiceError && error.code === 'invalid_view_token';
      if (!isByKey) throw error;
      return await this.#deps.keys.authenticate(credentials);
    }
  };

  /** @throws ServiceError session_not_found, session_ended, recording_not_found */
  async issueViewToken(
    principal: Principal,
    sessionId: string,
    { scope: wanted, ttl_seconds }: ViewTokenRequest,
    origin: string,
  ): Promise<ViewTokenResponse> {
    const owner = ownerOf(principal);
    const scope = wanted ?? (await this.#defaultScope(owner, sessionId));
    const page = scope === 'recording' ? await this.#playerPath(owner, sessionId) : 'live-view';
    if (scope !== 'recording') checkLive((await this.#deps.sessions.get(owner, sessionId)).record);
    const { token, ...grant } = await this.#issue(principal, sessionId, { scope, ttlSeconds: ttl_seconds });
    return { token, token_type: 'view', scope, ...grant, url: `${origin}/v1/session/${sessionId}/${page}?token=${token}` };
  }

  /** @throws ServiceError session_not_found, vnc_unavailable, session_ended */
  async issueVncToken(
    principal: Principal,
    sessionId: string,
    { ttl_seconds }: VncTokenRequest,
    origin: string,
  ): Promise<VncTokenResponse> {
    const { record } = await this.#deps.sessions.get(ownerOf(principal), sessionId);
    if (record.settings.kind !== 'full_browser')
      throw new ServiceError(
        'vnc_unavailable',
        'VNC needs a session of the kind `full_browser`. Create a view token for this session instead.',
      );
    checkLive(record);
    const { token, ...grant } = await this.#issue(principal, sessionId, { scope: 'vnc', ttlSeconds: ttl_seconds });
    return { token, token_type: 'vnc', ...grant, url: `${origin}/v1/session/${sessionId}/vnc/vnc.html?token=${token}` };
  }

  /** Revokes all links to the session on every worker and closes their connections. @throws ServiceError session_not_found */
  async revoke(principal: Principal, sessionId: string): Promise<void> {
    await this.#recordingOf(ownerOf(principal), sessionId);
    await writeRevocation(this.#deps.store, sessionId, new Date(this.#nextTimestampMs()));
    this.#deps.log.info({ session_id: sessionId }, 'view tokens revoked');
    this.#revocations.nudge();
  }

  /** Exchanges the token of a first load for a cookie that is limited to this path. */
  async setViewCookie(call: Pick<Call, 'principal' | 'origin' | 'target' | 'setHeader'>): Promise<void> {
    const [, section] = /^\/v1\/session\/[^/?]+\/(live-view|vnc|recordings)(?=[/?])/.exec(call.target) ?? [];
    if (!call.principal.viewer?.isFirstLoad || section === undefined) return;
    const link = linkOf(call.principal);
    const { protocol, pathname } = new URL(call.origin);
    const path = `${pathname.replace(/\/$/, '')}/v1/session/${link.sessionId}/${section}`;
    const secure = protocol === 'https:' ? '; Secure' : '';
    call.setHeader(
      'set-cookie',
      `${viewCookieName(call.origin)}=${await this.#cookies.issue(link)}; Path=${path}; HttpOnly; SameSite=Lax${secure}`,
    );
  }

  /**
   * Registers a connection of a link. `close` is called once, within a second
   * after the link, its API key or its session ends. Returns what unregisters it.
   */
  registerConnection(principal: Principal, close: CloseConnection): () => void {
    const link = linkOf(principal);
    this.#connections.set(link, close);
    return () => void this.#connections.delete(link);
  }

  /** The same error for every invalid link, so that it does not reveal what is wrong. */
  invalidTokenError(cause?: unknown): ServiceError {
    return new ServiceError('invalid_view_token', 'This link is not valid or has expired. Request a new link.', { cause });
  }

  async #authenticate({ token, viewCookies, params }: Credentials, purpose: Purpose, scopes: readonly Scope[]): Promise<Principal> {
    const links = token === undefined ? await this.#cookies.find(viewCookies) : await this.#linksOfToken(token, purpose);
    // Strangers can plant cookies, so cookies of other sessions are ignored.
    const candidates = links.filter(({ sessionId, scope }) => sessionId === params['session_id'] && scopes.includes(scope));
    const validity = await checkValidity(this.#deps, candidates);
    const link = candidates.find((candidate) => validity.get(candidate) === 'valid');
    if (!link) throw this.invalidTokenError();
    const { owner, keyId, ...viewer } = link;
    // A page may send the token with every request: one that has the link's cookie needs no other.
    const hasCookie = token !== undefined && (await this.#cookies.find(viewCookies)).some(({ grantId }) => grantId === link.grantId);
    const { requests_per_minute: requestsPerMinute } = await this.#deps.owners.tierOf(owner);
    return {
      owner,
      keyId,
      requestsPerMinute,
      // Not the owner's: a link may be shared with many, and who watches must not keep the owner's programs out.
      scope: `link:${link.grantId}`,
      viewer: { ...viewer, isFirstLoad: token !== undefined && !hasCookie },
    };
  }

  /** Returns one link, or none for an invalid token. */
  async #linksOfToken(token: string, purpose: Purpose): Promise<Link[]> {
    const claims = await openToken(this.#deps.secret, token, purpose, this.#deps.clock.now());
    if (claims?.scope === undefined || claims.issuedAtMs === undefined || claims.grantId === undefined) return [];
    const { owner, session: sessionId, keyId, issuedAtMs, grantId } = claims;
    // This service sealed it, so it has one of the scopes.
    return [{ owner, sessionId, keyId, scope: claims.scope as Scope, issuedAtMs, grantId }];
  }

  async #issue(principal: Principal, sessionId: string, { scope, ttlSeconds }: { scope: Scope; ttlSeconds: number }) {
    const { store, secret, clock } = this.#deps;
    const revokedAt = (await revocationsOf(store, [sessionId])).get(sessionId);
    const expiresAt = Math.floor(clock.now().getTime() / 1000) + ttlSeconds;
    const claims = { owner: ownerOf(principal), session: sessionId, keyId: principal.keyId, expiresAt };
    const grant = { scope, issuedAtMs: this.#nextTimestampMs(revokedAt), grantId: newId('lnk') };
    const token = await sealToken(secret, { purpose: scope === 'vnc' ? 'vnc' : 'view', ...claims, ...grant });
    return { token, session_id: sessionId, expires_at: new Date(expiresAt * 1000).toISOString(), expires_in: ttlSeconds };
  }

  /** Strictly increasing, so that links and revocations stay in order even when the clock is set back. */
  #nextTimestampMs(after?: Date): number {
    this.#lastTimestampMs = Math.max(this.#deps.clock.now().getTime(), this.#lastTimestampMs + 1, (after?.getTime() ?? 0) + 1);
    return this.#lastTimestampMs;
  }

  /** A session that has ended can only be seen in its recording. */
  async #defaultScope(owner: string, sessionId: string): Promise<'view' | 'recording'> {
    const recId = await this.#recordingOf(owner, sessionId);
    return recId !== null && !(await isSessionLive(this.#deps.sessions, owner, sessionId)) ? 'recording' : 'view';
  }

  async #playerPath(owner: string, sessionId: string): Promise<string> {
    const recId = await this.#recordingOf(owner, sessionId);
    if (recId === null)
      throw new ServiceError('recording_not_found', 'This session has no recording. Create the session with `record: true` to record it.');
    return `recordings/${recId}/index.html`;
  }

  /** A recording may outlive its session. @throws ServiceError session_not_found when neither exists */
  async #recordingOf(owner: string, sessionId: string): Promise<string | null> {
    const recId = isId('ses', sessionId) ? await this.#deps.recordingOf(owner, sessionId) : null;
    if (recId === null) await this.#deps.sessions.get(owner, sessionId);
    return recId;
  }

  async #closeInvalid(): Promise<void> {
    for (const [link, validity] of await checkValidity(this.#deps, [...this.#connections.keys()]))
      if (validity !== 'valid') this.#close(link, validity);
  }

  #closeEnded(sessionId: string): void {
    for (const link of this.#connections.keys()) if (link.sessionId === sessionId && needsSession(link)) this.#close(link, 'session_ended');
  }

  #close(link: Link, reason: Parameters<CloseConnection>[0]): void {
    const close = this.#connections.get(link);
    this.#connections.delete(link);
    close?.(reason);
  }

  async #prune(): Promise<void> {
    await this.#cookies.purge();
    await pruneRevocations(this.#deps.store, new Date(this.#deps.clock.now().getTime() - revocationRetentionMs));
  }
}

/** A starting session can be watched as soon as it is ready. @throws ServiceError session_ended */
function checkLive(record: SessionRecord): void {
  if (!isLive(record.status)) throw sessionEndedError(record);
}

function linkOf({ owner, keyId, viewer }: Principal): Link {
  if (owner === null || !viewer) throw new Error('this endpoint needs a guard that admits viewers only');
  const { isFirstLoad: _, ...link } = viewer;
  return { owner, keyId, ...link };
}

/** `unauthorized`: the link or its API key was revoked. `session_ended`: the session or recording no longer exists. */
type TokenValidity = 'valid' | 'unauthorized' | 'session_ended';

interface TokenValidityDeps {
  keys: Pick<Keys, 'findInactive'>;
  sessions: Pick<Sessions, 'get'>;
  store: Store;
  /** Returns the id of the newest recording of a session of this owner, or null. Injected, since recordings depend on view. */
  recordingOf: (owner: string, sessionId: string) => Promise<string | null>;
}

const isLive = (status: SessionStatus): boolean => status === 'starting' || status === 'ready';

/** A recording outlives its session; everything else needs the live session. */
const needsSession = ({ scope }: Link): boolean => scope !== 'recording';

/** Makes two store queries for all links together, and one more for each session or recording. */
async function checkValidity(deps: TokenValidityDeps, links: readonly Link[]): Promise<Map<Link, TokenValidity>> {
  if (links.length === 0) return new Map();
  const keyIds = new Set(links.flatMap(({ keyId }) => keyId ?? []));
  const sessionIds = new Set(links.map(({ sessionId }) => sessionId));
  const [revokedKeyIds, revocations] = await Promise.all([deps.keys.findInactive([...keyIds]), revocationsOf(deps.store, [...sessionIds])]);
  const isRevoked = ({ keyId, sessionId, issuedAtMs }: Link): boolean =>
    (keyId !== null && revokedKeyIds.includes(keyId)) || issuedAtMs <= (revocations.get(sessionId)?.getTime() ?? 0);

  const subjectChecks = new Map<string, Promise<boolean>>();
  const hasSubject = (link: Link): Promise<boolean> => {
    const subject = `${link.owner} ${link.sessionId} ${needsSession(link)}`;
    const check = subjectChecks.get(subject) ?? subjectExists(deps, link);
    subjectChecks.set(subject, check);
    return check;
  };
  const validityOf = async (link: Link): Promise<TokenValidity> =>
    isRevoked(link) ? 'unauthorized' : (await hasSubject(link)) ? 'valid' : 'session_ended';
  return new Map(await Promise.all(links.map(async (link) => [link, await validityOf(link)] as const)));
}

async function subjectExists({ sessions, recordingOf }: TokenValidityDeps, link: Link): Promise<boolean> {
  if (!needsSession(link)) return (await recordingOf(link.owner, link.sessionId)) !== null;
  return isSessionLive(sessions, link.owner, link.sessionId);
}

async function isSessionLive(sessions: TokenValidityDeps['sessions'], owner: string, sessionId: string): Promise<boolean> {
  try {
    return isLive((await sessions.get(owner, sessionId)).record.status);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'session_not_found') return false;
    throw error;
  }
}
