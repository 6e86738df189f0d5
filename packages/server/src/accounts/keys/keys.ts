/** API keys: stored as a hash, checked on every request. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { bearerOf, type Credentials, type Principal } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId, newId } from '@berth/lib/ids.ts';
import { Loop } from '@berth/lib/loop.ts';
import { readOrCreateSecret } from '@berth/lib/secrets/secret-file.ts';
import type { Owners } from '../owners/owners.ts';
import { isStoreUnavailable, lastKnownMsMax, type Store, type Tables } from '../../store/store.ts';
import { digestOf, isWellFormed, keyStatus, newRawKey, signInLinkCreator, type ApiKey, type CreatedKey } from './api-key.ts';
import {
  countActive,
  findInactive,
  findKey,
  insertKey,
  listKeys,
  lockKey,
  revokeSpareLinkKeys,
  touchKeys,
  updateKey,
  type KeyFilter,
  type KeySelector,
} from './store.ts';

export { isWellFormed, keyStatus, newRawKey, type ApiKey, type CreatedKey } from './api-key.ts';
export { ConnectTokens, invalidConnectToken } from './connect-tokens.ts';
export { SignInLinks } from './sign-in-links.ts';

/**
 * A key revoked on this worker is refused at once; on other workers it may still
 * be accepted for this time.
 */
const freshMsMax = 1000;
const touchEveryMs = 60_000;
const dayMs = 86_400_000;
/** Active keys of an owner. More is a script that forgets to revoke. */
const keysPerOwnerMax = 100;
/** Active keys of an owner that came of sign-in links, beside those: each is of a tab that nobody may use any more. */
const linkKeysPerOwnerMax = 20;
/** Lifetime of such a key: a day of work, as of one that a person creates for a tab. */
const linkKeyDays = 1;

interface CreateKeyOptions {
  owner: string;
  name: string | null;
  /** Sets the owner's tier. */
  tier?: string | undefined;
  expiresInDays: number | null;
  createdBy: string;
  /** Actor as in the audit log. */
  actor: string;
  raw?: string;
}

interface KeyDraft extends Pick<ApiKey, 'owner' | 'name' | 'createdBy'> {
  actor: string;
  raw?: string;
  /** null: never expires. */
  lifetimeMs: number | null;
  replaces?: { keyId: string; graceSeconds: number };
}

interface KeysDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
}

interface CachedKey {
  principal: Principal;
  /** When it was read or tried to be read, in ms of the monotonic clock. */
  readMs: number;
  expiresAt: Date | null;
  touchedMs: number;
}

export class Keys {
  readonly #store: Store;
  readonly #owners: Owners;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #cache: LRUCache<string, CachedKey>;
  /** Version of keys and plans: a read that began before a change is not cached after it. */
  #changes = 0;
  #used = new Set<string>();
  #revocationListeners: ((keyId: string) => void)[] = [];
  /** Stores `last_used_at`, at most once a minute for each key, never while a request waits. */
  readonly usageLoop = new Loop('key-usage', 30_000, () => this.#flushUsage());

  constructor({ store, owners, audit, clock }: KeysDeps) {
    this.#store = store;
    this.#owners = owners;
    this.#audit = audit;
    this.#clock = clock;
    this.#cache = new LRUCache({ max: 10_000, ttl: lastKnownMsMax });
    owners.onChanged((owner) => this.#forget((principal) => principal.owner === owner));
  }

  /** Creates a key, and its owner if that is new. @throws ValidationError for an unknown tier */
  async create(options: CreateKeyOptions): Promise<CreatedKey> {
    const { tier, expiresInDays, ...draft } = options;
    const created = await this.#store.transaction(async (tx) => {
      await this.#owners.ensure(tx, options.owner, tier, options.actor);
      return this.#insert(tx, { ...draft, lifetimeMs: toLifetimeMs(expiresInDays) });
    });
    if (tier !== undefined) this.#owners.changed(options.owner);
    return created;
  }

  /** Creates a key on behalf of the owner. @throws ServiceError key_limit_reached */
  createOwn({
    owner,
    actor,
    name,
    expiresInDays,
  }: Pick<CreateKeyOptions, 'owner' | 'actor' | 'name' | 'expiresInDays'>): Promise<CreatedKey> {
    return this.#store.transaction(async (tx) => {
      await this.#owners.ensure(tx, owner, undefined, actor);
      await this.#owners.lock(tx, owner);
      await this.#checkKeyLimit(tx, owner);
      return this.#insert(tx, { owner, actor, name, createdBy: actor, lifetimeMs: toLifetimeMs(expiresInDays) });
    });
  }

  /**
   * Creates the key that a sign-in link is exchanged for. It does not count as a key of the owner; where the owner has too many
   * of this kind, the oldest are revoked.
   *
   * @param takeLink Uses the link up, in the transaction that creates the key.
   */
  async createOfLink(takeLink: (tx: Tables) => Promise<{ owner: string; actor: string }>): Promise<CreatedKey> {
    const { created, spare } = await this.#store.transaction(async (tx) => {
      const { owner, actor } = await takeLink(tx);
      await this.#owners.lock(tx, owner);
      const draft = { owner, actor, name: 'Dashboard', createdBy: signInLinkCreator, lifetimeMs: toLifetimeMs(linkKeyDays) };
      const now = this.#clock.now();
      const spareIds = await revokeSpareLinkKeys(tx, { owner, keysMax: linkKeysPerOwnerMax - 1, now });
      for (const subject of spareIds) await this.#audit.record(tx, { actor, action: 'key.revoked', owner, subject });
      return { created: await this.#insert(tx, draft), spare: spareIds };
    });
    for (const keyId of spare) this.#notifyRevoked(keyId);
    return created;
  }

  /**
   * The key of the owner `local`: the configured one, else one that is generated
   * at the first start and stored in `file`. Also registers it in a new database.
   *
   * @throws Error when the configured key is malformed
   */
  async bootstrap({ file, configured }: { file: string; configured: string | null }): Promise<{ secret: string; created: boolean }> {
    checkBootstrapKey(configured);
    const { secret, created } = configured === null ? readOrCreateSecret(file, newRawKey) : { secret: configured, created: false };
    if (!(await findKey(this.#store, digestOf(secret))))
      await this.create({ owner: 'local', name: 'bootstrap', expiresInDays: null, createdBy: 'bootstrap', actor: 'service', raw: secret });
    return { secret, created };
  }

  /** Newest first. */
  list(filter: KeyFilter): Promise<ApiKey[]> {
    return listKeys(this.#store, filter);
  }

  /**
   * Returns when the key was first revoked. With an owner, keys of others are
   * not found.
   *
   * @throws ServiceError key_not_found
   */
  revoke({ keyId, owner, actor }: KeySelector & { actor: string }): Promise<Date> {
    return this.#revoke(actor, (tx) => this.#find(tx, { keyId, owner }));
  }

  /** Revokes the caller's own key, if it came of a sign-in link. @throws ServiceError key_not_found */
  revokeOfLink({ keyId, owner, actor }: { keyId: string; owner: string; actor: string }): Promise<Date> {
    return this.#revoke(actor, async (tx) => {
      const key = await this.#find(tx, { keyId, owner });
      if (key.createdBy !== signInLinkCreator)
        throw new ServiceError('key_not_found', 'This API key did not come of a sign-in link. Revoke it where it was created.');
      return key;
    });
  }

  async #revoke(actor: string, find: (tx: Tables) => Promise<ApiKey>): Promise<Date> {
    const { keyId, revokedAt } = await this.#store.transaction(async (tx) => {
      const key = await find(tx);
      if (key.revokedAt) return { keyId: key.keyId, revokedAt: key.revokedAt };
      const now = this.#clock.now();
      await updateKey(tx, key.keyId, { revokedAt: now });
      await this.#audit.record(tx, { actor, action: 'key.revoked', owner: key.owner, subject: key.keyId });
      return { keyId: key.keyId, revokedAt: now };
    });
    this.#notifyRevoked(keyId);
    return revokedAt;
  }

  /**
   * Replaces a key by one with the same name and lifetime. The old key expires
   * after the grace period, or at its own expiry if that is earlier; without a
   * grace period it is revoked.
   *
   * @throws ServiceError key_not_found, key_revoked, key_limit_reached
   */
  async rotate({
    keyId,
    owner,
    actor,
    graceSeconds,
  }: {
    keyId: string;
    owner: string;
    actor: string;
    graceSeconds: number;
  }): Promise<CreatedKey> {
    const created = await this.#store.transaction(async (tx) => {
      await this.#owners.lock(tx, owner);
      const old = await this.#find(tx, { keyId, owner });
      const now = this.#clock.now();
      if (keyStatus(old, now) !== 'active')
        throw new ServiceError('key_revoked', 'This API key has been revoked or has expired. Create a new one.');
      // The new key counts as the owner's, and the one of a link did not.
      if (graceSeconds > 0 || old.createdBy === signInLinkCreator) await this.#checkKeyLimit(tx, owner);
      await updateKey(
        tx,
        keyId,
        graceSeconds === 0 ? { revokedAt: now } : { expiresAt: earlier(old.expiresAt, later(now, graceSeconds * 1000)) },
      );
      const lifetimeMs = old.expiresAt && old.expiresAt.getTime() - old.createdAt.getTime();
      return this.#insert(tx, { owner, actor, name: old.name, createdBy: actor, lifetimeMs, replaces: { keyId, graceSeconds } });
    });
    if (graceSeconds === 0) this.#notifyRevoked(keyId);
    else this.#forget((principal) => principal.keyId === keyId);
    return created;
  }

  /** Called for each key revoked on this worker. */
  onRevoked(listener: (keyId: string) => void): void {
    this.#revocationListeners.push(listener);
  }

  /** Which of these keys are revoked or expired, by whichever worker. */
  findInactive(keyIds: string[]): Promise<string[]> {
    return keyIds.length === 0 ? Promise.resolve([]) : findInactive(this.#store, keyIds, this.#clock.now());
  }

  /** The guard of endpoints with auth `bearer`. Missing is 401; unknown, malformed, revoked and expired are the same 403. */
  authenticate = (credentials: Credentials): Principal | Promise<Principal> => {
    const raw = bearerOf(credentials);
    if (!raw) throw new ServiceError('missing_api_key', 'Send your API key as `Authorization: Bearer brt_live_…`.');
    const digest = digestOf(raw);
    const id = digest.toString('latin1');
    const cached = this.#cache.get(id);
    if (cached && this.#clock.monotonicMs() - cached.readMs < freshMsMax) return this.#admit(cached);
    if (!isWellFormed(raw)) throw invalidKey();
    return this.#readKey(digest).catch((error: unknown) => {
      // Not the one from before: it may have been revoked meanwhile.
      const known = this.#cache.get(id);
      if (!known || !isStoreUnavailable(error)) throw error;
      known.readMs = this.#clock.monotonicMs();
      return this.#admit(known);
    });
  };

  /** Has no effect where the key exists, as a configured one may. */
  async #insert(tx: Tables, { raw = newRawKey(), actor, lifetimeMs, replaces, ...draft }: KeyDraft): Promise<CreatedKey> {
    const now = this.#clock.now();
    const expiresAt = lifetimeMs === null ? null : later(now, lifetimeMs);
    const key: ApiKey = {
      ...draft,
      keyId: newId('key'),
      last4: raw.slice(-4),
      createdAt: now,
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
    };
    if (!(await insertKey(tx, key, digestOf(raw)))) return { key, raw };
    const about = { actor, owner: key.owner, subject: key.keyId };
    if (replaces)
      await this.#audit.record(tx, {
        ...about,
        action: 'key.rotated',
        details: { replaces: replaces.keyId, grace_seconds: replaces.graceSeconds },
      });
    else await this.#audit.record(tx, { ...about, action: 'key.created' });
    return { key, raw };
  }

  /** Unknown, malformed and foreign ids are the same error. */
  async #find(tx: Tables, selector: KeySelector): Promise<ApiKey> {
    const key = isId('key', selector.keyId) ? await lockKey(tx, selector) : undefined;
    if (!key) throw new ServiceError('key_not_found', 'No API key with this id. List the keys.');
    return key;
  }

  /** Requires the owner's lock. */
  async #checkKeyLimit(tx: Tables, owner: string): Promise<void> {
    if ((await countActive(tx, owner, this.#clock.now())) < keysPerOwnerMax) return;
    throw new ServiceError(
      'key_limit_reached',
      `The limit of ${keysPerOwnerMax} active API keys is reached. Revoke a key that you no longer use.`,
      {
        details: { limit: keysPerOwnerMax },
      },
    );
  }

  #notifyRevoked(keyId: string): void {
    this.#forget((principal) => principal.keyId === keyId);
    for (const listener of this.#revocationListeners) listener(keyId);
  }

  #forget(matches: (principal: Principal) => boolean): void {
    this.#changes += 1;
    for (const [digest, { principal }] of this.#cache.entries()) if (matches(principal)) this.#cache.delete(digest);
  }

  async #readKey(digest: Buffer): Promise<Principal> {
    const changes = this.#changes;
    const readMs = this.#clock.monotonicMs();
    const match = await findKey(this.#store, digest);
    if (!match || !timingSafeEqual(match.digest, digest) || match.key.revokedAt) {
      this.#cache.delete(digest.toString('latin1'));
      throw invalidKey();
    }
    const { owner, keyId, expiresAt, lastUsedAt } = match.key;
    const { requests_per_minute: requestsPerMinute } = await this.#owners.tierOf(owner);
    const cached: CachedKey = {
      principal: { owner, keyId, requestsPerMinute, scope: `owner:${owner}` },
      readMs,
      expiresAt,
      touchedMs: lastUsedAt?.getTime() ?? 0,
    };
    if (changes === this.#changes) this.#cache.set(digest.toString('latin1'), cached);
    return this.#admit(cached);
  }

  #admit(cached: CachedKey): Principal {
    const now = this.#clock.now();
    if (cached.expiresAt && cached.expiresAt <= now) throw invalidKey();
    if (now.getTime() - cached.touchedMs > touchEveryMs) {
      cached.touchedMs = now.getTime();
      if (cached.principal.keyId) this.#used.add(cached.principal.keyId);
    }
    return cached.principal;
  }

  async #flushUsage(): Promise<void> {
    const used = [...this.#used];
    if (used.length === 0) return;
    await touchKeys(this.#store, used, this.#clock.now());
    for (const keyId of used) this.#used.delete(keyId);
  }
}

/** @throws Error for a configured key that is malformed */
export function checkBootstrapKey(configured: string | null): void {
  if (configured !== null && !isWellFormed(configured))
    throw new Error(
      'BERTH_BOOTSTRAP_API_KEY is malformed: expected brt_live_, 43 letters and digits, and a checksum of 6. ' +
        '`npm run -s api-key` prints a valid one.',
    );
}

const toLifetimeMs = (days: number | null): number | null => (days === null ? null : days * dayMs);
const later = (time: Date, ms: number): Date => new Date(time.getTime() + ms);
const earlier = (one: Date | null, other: Date): Date => (one && one < other ? one : other);

const invalidKey = (): ServiceError =>
  new ServiceError('invalid_api_key', 'This API key is unknown, has expired or has been revoked. Send another key, or create a new one.');
