/** API keys: minted once, kept as a hash, checked on every request. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '@berth/contract';
import type { Credentials, Principal } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { isId, newId } from '../lib/ids.ts';
import { Loop } from '../lib/loop.ts';
import { readOrMakeSecret } from '../lib/secret-file.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import { digestOf, isWellFormed, newRawKey, type ApiKey } from './api-key.ts';
import { deadAmong, findKey, insertKey, listKeys, revokeKey, touchKeys } from './store.ts';

export { isWellFormed, keyPrefix, keyStatus, newRawKey, type ApiKey } from './api-key.ts';

/**
 * How long an answer of the database is believed. A key revoked on this worker
 * is forgotten at once; on another worker this is how long it can still pass.
 */
const believedMs = 1000;
const touchEveryMs = 60_000;

interface Known {
  principal: Principal;
  expiresAt: Date | null;
  touchedMs: number;
}

export class Keys {
  readonly #store: Store;
  readonly #owners: Owners;
  readonly #clock: Clock;
  readonly #known: LRUCache<string, Known>;
  /** Counts revocations: an answer that was asked for before one is not believed after it. */
  #revocations = 0;
  #used = new Set<string>();
  #revocationListeners: ((keyId: string) => void)[] = [];
  /** Writes down which keys were used: at most once a minute for each, never on the path of a request. */
  readonly usageLoop = new Loop('key-usage', 30_000, () => this.#flushUsage());

  constructor(store: Store, owners: Owners, clock: Clock) {
    this.#store = store;
    this.#owners = owners;
    this.#clock = clock;
    this.#known = new LRUCache({ max: 10_000, ttl: believedMs });
  }

  /** Mints a key, and its owner when that is new. The raw key is in this answer and nowhere else. */
  async mint(order: {
    owner: string;
    name: string | null;
    tier?: string | undefined;
    expiresInDays: number | null;
    createdBy: string;
    raw?: string;
  }): Promise<{ key: ApiKey; raw: string }> {
    const raw = order.raw ?? newRawKey();
    const now = this.#clock.now();
    const key: ApiKey = {
      keyId: newId('key'),
      owner: order.owner,
      name: order.name,
      last4: raw.slice(-4),
      createdAt: now,
      createdBy: order.createdBy,
      lastUsedAt: null,
      expiresAt: order.expiresInDays === null ? null : new Date(now.getTime() + order.expiresInDays * 86_400_000),
      revokedAt: null,
    };
    await this.#store.transaction(async (tx) => {
      await this.#owners.ensure(tx, order.owner, order.tier);
      await insertKey(tx, key, digestOf(raw));
    });
    if (order.tier !== undefined) this.#known.clear();
    return { key, raw };
  }

  /**
   * The key of the owner `local`: the one given by the operator, else one that
   * is made on the first start and kept in `file`. Valid also when the database
   * is a new one. Throws where the given key is not of the form of a key.
   */
  async bootstrap({ file, given }: { file: string; given: string | null }): Promise<{ secret: string; made: boolean }> {
    if (given !== null && !isWellFormed(given)) throw new Error('BERTH_BOOTSTRAP_API_KEY is not a key: brt_live_, 43 letters and digits, and their checksum');
    const { secret, made } = given === null ? readOrMakeSecret(file, newRawKey) : { secret: given, made: false };
    if (!(await findKey(this.#store, digestOf(secret))))
      await this.mint({ owner: 'local', name: 'bootstrap', expiresInDays: null, createdBy: 'bootstrap', raw: secret });
    return { secret, made };
  }

  list(owner: string | undefined): Promise<ApiKey[]> {
    return listKeys(this.#store, owner);
  }

  /** Throws ServiceError key_not_found for an unknown id. Idempotent. */
  async revoke(keyId: string): Promise<void> {
    if (!isId('key', keyId) || !(await revokeKey(this.#store, keyId, this.#clock.now()))) throw new ServiceError('key_not_found', 'There is no such key.');
    this.#revocations += 1;
    for (const [digest, known] of this.#known.entries()) if (known.principal.keyId === keyId) this.#known.delete(digest);
    for (const listener of this.#revocationListeners) listener(keyId);
  }

  /** Told of each key revoked on this worker. */
  onRevoked(listener: (keyId: string) => void): void {
    this.#revocationListeners.push(listener);
  }

  /** Which of these keys are good no more, revoked by whichever worker. */
  deadAmong(keyIds: string[]): Promise<string[]> {
    return keyIds.length === 0 ? Promise.resolve([]) : deadAmong(this.#store, keyIds, this.#clock.now());
  }

  /** The guard of every endpoint with auth `bearer`. Missing is 401; unknown, malformed, revoked and expired are one 403. */
  authenticate = (credentials: Credentials): Principal | Promise<Principal> => {
    const raw = bearerToken(credentials.authorization);
    const digest = digestOf(raw);
    const known = this.#known.get(digest.toString('latin1'));
    if (known) return this.#admit(known);
    if (!isWellFormed(raw)) throw invalidKey();
    return this.#lookUp(digest);
  };

  async #lookUp(digest: Buffer): Promise<Principal> {
    const revocations = this.#revocations;
    const found = await findKey(this.#store, digest);
    if (!found || !timingSafeEqual(found.digest, digest) || found.key.revokedAt) throw invalidKey();
    const tier = this.#owners.tierNamed(found.tier);
    const known: Known = {
      principal: { owner: found.key.owner, keyId: found.key.keyId, requestsPerMinute: tier.requests_per_minute, scope: `owner:${found.key.owner}` },
      expiresAt: found.key.expiresAt,
      touchedMs: found.key.lastUsedAt?.getTime() ?? 0,
    };
    if (revocations === this.#revocations) this.#known.set(digest.toString('latin1'), known);
    return this.#admit(known);
  }

  #admit(known: Known): Principal {
    const now = this.#clock.now();
    if (known.expiresAt && known.expiresAt <= now) throw invalidKey();
    if (now.getTime() - known.touchedMs > touchEveryMs) {
      known.touchedMs = now.getTime();
      if (known.principal.keyId) this.#used.add(known.principal.keyId);
    }
    return known.principal;
  }

  async #flushUsage(): Promise<void> {
    const used = [...this.#used];
    if (used.length === 0) return;
    await touchKeys(this.#store, used, this.#clock.now());
    for (const keyId of used) this.#used.delete(keyId);
  }
}

/** Throws ServiceError missing_api_key where there is no bearer credential. */
export function bearerToken(authorization: string | undefined): string {
  const [, raw] = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '') ?? [];
  if (!raw) throw new ServiceError('missing_api_key', 'Send your API key as `Authorization: Bearer brt_live_…`.');
  return raw;
}

const invalidKey = (): ServiceError => new ServiceError('invalid_api_key', 'This API key is not valid.');
