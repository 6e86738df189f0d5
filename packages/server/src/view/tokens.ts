/** Links for people who watch: who makes them and takes them back, and what each opens until when. */
import { ServiceError, type ViewTokenRequest, type ViewTokenResponse, type VncTokenRequest, type VncTokenResponse } from '@berth/contract';
import { ownerOf, type Call, type Credentials, type Guard, type Principal } from '../http/call.ts';
import { viewCookieName } from '../http/view-cookie.ts';
import type { Keys } from '../keys/keys.ts';
import type { Clock } from '../lib/clock.ts';
import { isId, newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import { signToken, verifyToken } from '../lib/signed-token.ts';
import { sessionEnded, type SessionRecord, type Sessions } from '../sessions/sessions.ts';
import { Grants, type Link } from './grants.ts';
import { pruneRevocations, revocationsOf, writeRevocation } from './store.ts';
import { isLive, needsSession, standingOf, type StandingDeps } from './tokens-standing.ts';

export interface TokensDeps extends StandingDeps {
  keys: Keys;
  sessions: Sessions;
  clock: Clock;
  secret: Buffer;
  log: Log;
}

/** As much of them as is used here. */
export interface OwnDeps extends Omit<TokensDeps, 'keys' | 'sessions'> {
  keys: Pick<Keys, 'authenticate' | 'deadAmong' | 'onRevoked'>;
  sessions: Pick<Sessions, 'get' | 'onEnded'>;
}

/** What a token is signed for: a token of one is none of the other. */
type Purpose = 'view' | 'vnc';
type Scope = Link['scope'];
type Close = (reason: 'unauthorized' | 'session_ended') => void;

const pruneMs = 3_600_000;
/** Longer than any recording is kept, and so than anybody could try a link that was taken back. */
const revocationKeptMs = 400 * 86_400_000;

export class Tokens {
  readonly #deps: OwnDeps;
  readonly #grants: Grants;
  /** What links have opened and is still open. */
  readonly #held = new Map<Link, Close>();
  /** The latest time at which this worker made a link or took links back. */
  #stampedMs = 0;
  readonly #revocations = new Loop('view-revocations', 1000, () => this.#closeDead());
  readonly loops: readonly Loop[] = [this.#revocations, new Loop('view-pruning', pruneMs, () => this.#prune())];

  constructor(deps: OwnDeps) {
    this.#deps = deps;
    this.#grants = new Grants(deps.clock);
    deps.keys.onRevoked(() => this.#revocations.nudge());
    deps.sessions.onEnded(({ sessionId }) => this.#closeEnded(sessionId));
  }

  /** The guard of the live view. */
  authenticateView: Guard = (credentials) => this.#admit(credentials, 'view', ['view', 'control']);

  /** The guard of the whole window. */
  authenticateVnc: Guard = (credentials) => this.#admit(credentials, 'vnc', ['vnc']);

  /** The guard of recordings: a link to them, one to the session while it lives, or an API key. */
  authenticateRecording: Guard = async (credentials) => {
    try {
      return await this.#admit(credentials, 'view', ['recording', 'view', 'control']);
    } catch (error) {
      // An old cookie comes along by itself; a key was sent on purpose.
      const isByKey = credentials.authorization !== undefined && error instanceof ServiceError && error.code === 'invalid_view_token';
      if (!isByKey) throw error;
      return await this.#deps.keys.authenticate(credentials);
    }
  };

  /** Throws session_not_found, session_ended, recording_not_found. */
  async mintView(
    principal: Principal,
    sessionId: string,
    { scope, ttl_seconds }: ViewTokenRequest,
    origin: string,
  ): Promise<ViewTokenResponse> {
    const page = scope === 'recording' ? await this.#player(ownerOf(principal), sessionId) : 'live-view';
    if (scope !== 'recording') checkLive((await this.#deps.sessions.get(ownerOf(principal), sessionId)).record);
    const { token, ...grant } = await this.#grant(principal, sessionId, { scope, ttlSeconds: ttl_seconds });
    return { token, token_type: 'view', scope, ...grant, url: `${origin}/v1/session/${sessionId}/${page}?token=${token}` };
  }

  /** Throws session_not_found, vnc_unavailable, session_ended. */
  async mintVnc(principal: Principal, sessionId: string, { ttl_seconds }: VncTokenRequest, origin: string): Promise<VncTokenResponse> {
    const { record } = await this.#deps.sessions.get(ownerOf(principal), sessionId);
    if (record.settings.kind !== 'full_browser')
      throw new ServiceError(
        'vnc_unavailable',
        'Only a session of the kind `full_browser` has a window. For this one ask for a view token.',
      );
    checkLive(record);
    const { token, ...grant } = await this.#grant(principal, sessionId, { scope: 'vnc', ttlSeconds: ttl_seconds });
    return { token, token_type: 'vnc', ...grant, url: `${origin}/v1/session/${sessionId}/vnc/vnc.html?token=${token}` };
  }

  /** All links to the session die, on every worker, and what they have opened is closed. Throws session_not_found. */
  async revoke(principal: Principal, sessionId: string): Promise<void> {
    await this.#recordingOf(ownerOf(principal), sessionId);
    await writeRevocation(this.#deps.store, sessionId, new Date(this.#stamp()));
    this.#deps.log.info({ session: sessionId }, 'the links to a session were taken back');
    this.#revocations.nudge();
  }

  /** On a first load: trades the token for a cookie of this address and what lies below it. */
  welcome(call: Pick<Call, 'principal' | 'origin' | 'target' | 'setHeader'>): void {
    const [, place] = /^\/v1\/session\/[^/?]+\/(live-view|vnc|recordings)(?=[/?])/.exec(call.target) ?? [];
    if (!call.principal.viewer?.isFirstLoad || place === undefined) return;
    const link = linkOf(call.principal);
    const { protocol, pathname } = new URL(call.origin);
    const path = `${pathname.replace(/\/$/, '')}/v1/session/${link.sessionId}/${place}`;
    const secure = protocol === 'https:' ? '; Secure' : '';
    call.setHeader(
      'set-cookie',
      `${viewCookieName(call.origin)}=${this.#grants.issue(link)}; Path=${path}; HttpOnly; SameSite=Lax${secure}`,
    );
  }

  /**
   * Registers what a link has opened. `close` is called once, within a second
   * of the end of the link, its key or its session. Answers what undoes it.
   */
  hold(principal: Principal, close: Close): () => void {
    const link = linkOf(principal);
    this.#held.set(link, close);
    return () => void this.#held.delete(link);
  }

  /** The one answer to a link that opens nothing, whatever is wrong with it. */
  invalid(cause?: unknown): ServiceError {
    return new ServiceError('invalid_view_token', 'This link is not valid, or not any more. Ask for a new one.', { cause });
  }

  async #admit({ token, viewCookies, params }: Credentials, purpose: Purpose, scopes: readonly Scope[]): Promise<Principal> {
    const links = token === undefined ? this.#grants.find(viewCookies) : this.#linksIn(token, purpose);
    // Strangers can plant cookies: those for another session are passed over.
    const fitting = links.filter(({ sessionId, scope }) => sessionId === params['session_id'] && scopes.includes(scope));
    const standing = await standingOf(this.#deps, fitting);
    const link = fitting.find((candidate) => standing.get(candidate) === 'good');
    if (!link) throw this.invalid();
    const { owner, keyId, ...viewer } = link;
    return {
      owner,
      keyId,
      requestsPerMinute: null,
      scope: `link:${link.grantId}`,
      viewer: { ...viewer, isFirstLoad: token !== undefined },
    };
  }

  /** One, or none where the token is none of ours. */
  #linksIn(token: string, purpose: Purpose): Link[] {
    const claims = verifyToken(this.#deps.secret, token, purpose, this.#deps.clock.now());
    if (claims?.scope === undefined || claims.issuedAtMs === undefined || claims.grantId === undefined) return [];
    const { owner, session: sessionId, keyId, issuedAtMs, grantId } = claims;
    // It was signed here, with one of the scopes.
    return [{ owner, sessionId, keyId, scope: claims.scope as Scope, issuedAtMs, grantId }];
  }

  async #grant(principal: Principal, sessionId: string, { scope, ttlSeconds }: { scope: Scope; ttlSeconds: number }) {
    const { store, secret, clock } = this.#deps;
    const revokedAt = (await revocationsOf(store, [sessionId])).get(sessionId);
    const expiresAt = Math.floor(clock.now().getTime() / 1000) + ttlSeconds;
    const claims = { owner: ownerOf(principal), session: sessionId, keyId: principal.keyId, expiresAt };
    const grant = { scope, issuedAtMs: this.#stamp(revokedAt), grantId: newId('lnk') };
    const token = signToken(secret, { purpose: scope === 'vnc' ? 'vnc' : 'view', ...claims, ...grant });
    return { token, session_id: sessionId, expires_at: new Date(expiresAt * 1000).toISOString(), expires_in: ttlSeconds };
  }

  /** Never twice the same, and never back: a link is older or younger than a revocation also where the clock was set. */
  #stamp(after?: Date): number {
    this.#stampedMs = Math.max(this.#deps.clock.now().getTime(), this.#stampedMs + 1, (after?.getTime() ?? 0) + 1);
    return this.#stampedMs;
  }

  async #player(owner: string, sessionId: string): Promise<string> {
    const recId = await this.#recordingOf(owner, sessionId);
    if (recId === null)
      throw new ServiceError(
        'recording_not_found',
        'This session has no recording. One is made of sessions that are created with `record`.',
      );
    return `recordings/${recId}/index.html`;
  }

  /** What is left of a session may be its recording alone. Throws session_not_found where not even that is. */
  async #recordingOf(owner: string, sessionId: string): Promise<string | null> {
    const recId = isId('ses', sessionId) ? await this.#deps.recordingOf(owner, sessionId) : null;
    if (recId === null) await this.#deps.sessions.get(owner, sessionId);
    return recId;
  }

  async #closeDead(): Promise<void> {
    for (const [link, standing] of await standingOf(this.#deps, [...this.#held.keys()]))
      if (standing !== 'good') this.#close(link, standing);
  }

  #closeEnded(sessionId: string): void {
    for (const link of this.#held.keys()) if (link.sessionId === sessionId && needsSession(link)) this.#close(link, 'session_ended');
  }

  #close(link: Link, reason: Parameters<Close>[0]): void {
    const close = this.#held.get(link);
    this.#held.delete(link);
    close?.(reason);
  }

  async #prune(): Promise<void> {
    this.#grants.purge();
    await pruneRevocations(this.#deps.store, new Date(this.#deps.clock.now().getTime() - revocationKeptMs));
  }
}

/** Throws session_ended. A session that is still starting can be watched as soon as it is ready. */
function checkLive(record: SessionRecord): void {
  if (!isLive(record.status)) throw sessionEnded(record);
}

function linkOf({ owner, keyId, viewer }: Principal): Link {
  if (owner === null || !viewer) throw new Error('this endpoint is mounted with a guard that admits others than viewers');
  const { isFirstLoad: _, ...link } = viewer;
  return { owner, keyId, ...link };
}
