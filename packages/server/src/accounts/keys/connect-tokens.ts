/**
 * Connect tokens: credentials for addresses. One creates sessions by connecting
 * and drives those that it created, and nothing else. It is stored as a hash,
 * as API keys are, and is valid only as long as the key that created it.
 */
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { actorOf, ownerOf, type Principal } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId, newId } from '@berth/lib/ids.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../../store/store.ts';
import { apiKeyPrefix, connectTokenPrefix } from '@berth/lib/secrets/credential-prefixes.ts';
import { digestOf, isWellFormed, newRawKey } from './api-key.ts';
import { connectTokenStatus, type ConnectToken } from './connect-token.ts';
import {
  deleteConnectTokens,
  findConnectToken,
  insertConnectToken,
  listConnectTokens,
  listConnectTokensById,
  touchConnectToken,
} from './store.ts';

interface ConnectTokensDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
}

/** Maximum tokens of an owner. More come from a script that forgets to revoke. */
const tokensPerOwnerMax = 100;
const touchEveryMs = 60_000;
const dayMs = 86_400_000;

export class ConnectTokens {
  readonly #deps: ConnectTokensDeps;
  #revocationListeners: (() => void)[] = [];

  constructor(deps: ConnectTokensDeps) {
    this.#deps = deps;
  }

  /** `raw` is only returned here; never stored. @throws ServiceError connect_token_limit_reached */
  async create(
    principal: Principal,
    { name, expiresInDays, reconnectSeconds }: { name: string | null; expiresInDays: number | null; reconnectSeconds: number },
  ): Promise<{ token: ConnectToken; raw: string }> {
    const { store, owners, audit, clock } = this.#deps;
    const owner = ownerOf(principal);
    const { keyId } = principal;
    if (keyId === null) throw new Error('a connect token needs the API key that creates it');
    const raw = newRawKey(connectTokenPrefix);
    const createdAt = clock.now();
    const token: ConnectToken = {
      tokenId: newId('tok'),
      owner,
      keyId,
      name,
      last4: raw.slice(-4),
      createdAt,
      lastUsedAt: null,
      expiresAt: expiresInDays === null ? null : new Date(createdAt.getTime() + expiresInDays * dayMs),
      reconnectSeconds,
      key: { revokedAt: null, expiresAt: null },
    };
    await store.transaction(async (tx) => {
      await owners.lock(tx, owner);
      await this.#makeRoom(tx, owner);
      await insertConnectToken(tx, token, digestOf(raw));
      await audit.record(tx, { actor: actorOf(principal), action: 'connect_token.created', owner, subject: token.tokenId });
    });
    return { token, raw };
  }

  /** Newest first. */
  list(owner: string): Promise<ConnectToken[]> {
    return listConnectTokens(this.#deps.store, owner);
  }

  /** Deletes the token. Unknown, malformed and foreign ids are the same error. @throws ServiceError connect_token_not_found */
  async revoke(principal: Principal, tokenId: string): Promise<void> {
    const { store, audit } = this.#deps;
    const owner = ownerOf(principal);
    await store.transaction(async (tx) => {
      const [deleted] = isId('tok', tokenId) ? await deleteConnectTokens(tx, [tokenId], owner) : [];
      if (deleted === undefined)
        throw new ServiceError('connect_token_not_found', 'No connect token with this id. List your tokens with GET /v1/connect-tokens.');
      await audit.record(tx, { actor: actorOf(principal), action: 'connect_token.revoked', owner, subject: tokenId });
    });
    for (const listener of this.#revocationListeners) listener();
  }

  /** Called after each revocation on this worker. */
  onRevoked(listener: () => void): void {
    this.#revocationListeners.push(listener);
  }

  /** Which of these tokens are revoked or expired, by whichever worker. */
  async findInactive(tokenIds: string[]): Promise<string[]> {
    if (tokenIds.length === 0) return [];
    const now = this.#deps.clock.now();
    const tokens = await listConnectTokensById(this.#deps.store, tokenIds);
    const active = new Set(tokens.filter((token) => connectTokenStatus(token, now) === 'active').map(({ tokenId }) => tokenId));
    return tokenIds.filter((tokenId) => !active.has(tokenId));
  }

  /** @throws ServiceError invalid_connect_token: the same for unknown, malformed, revoked and expired tokens */
  async authenticate(raw: string): Promise<Principal> {
    const { store, owners, clock } = this.#deps;
    const now = clock.now();
    const token = isWellFormed(raw, connectTokenPrefix) ? await findConnectToken(store, digestOf(raw)) : undefined;
    if (!token || connectTokenStatus(token, now) !== 'active') throw invalidConnectToken(raw);
    const { owner, keyId, tokenId, lastUsedAt, reconnectSeconds } = token;
    // No request waits for it, and it is not worth one that fails.
    if (now.getTime() - (lastUsedAt?.getTime() ?? 0) > touchEveryMs) touchConnectToken(store, tokenId, now).catch(() => undefined);
    const { requests_per_minute: requestsPerMinute } = await owners.tierOf(owner);
    return {
      owner,
      keyId,
      connectTokenId: tokenId,
      ...(reconnectSeconds > 0 ? { reconnectSeconds } : {}),
      requestsPerMinute,
      scope: `owner:${owner}`,
    };
  }

  /** Requires the owner's lock. Tokens that are no longer valid make room for a new one. */
  async #makeRoom(tx: Tables, owner: string): Promise<void> {
    const tokens = await listConnectTokens(tx, owner);
    if (tokens.length < tokensPerOwnerMax) return;
    const now = this.#deps.clock.now();
    const inactive = tokens.filter((token) => connectTokenStatus(token, now) !== 'active').map(({ tokenId }) => tokenId);
    if (inactive.length === 0)
      throw new ServiceError(
        'connect_token_limit_reached',
        `The limit of ${tokensPerOwnerMax} connect tokens is reached. Revoke one that you no longer use.`,
        { details: { limit: tokensPerOwnerMax } },
      );
    await deleteConnectTokens(tx, inactive, owner);
  }
}

/** Says by the form alone that an API key is refused, whether it is valid or not. */
export const invalidConnectToken = (raw: string): ServiceError =>
  new ServiceError(
    'invalid_connect_token',
    raw.startsWith(apiKeyPrefix)
      ? 'API keys are not accepted in URLs, which end up in logs and histories. Send the key as `Authorization: Bearer`, or create a connect token with `POST /v1/connect-tokens`.'
      : 'The token is invalid, expired or revoked. Create one with `POST /v1/connect-tokens`, or get one for a session with `GET …/connect`.',
  );
