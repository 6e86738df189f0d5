/** API keys: minted once, kept as a hash, checked on every request. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import type { Credentials, Principal } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { isId, newId } from '../lib/ids.ts';
import { Loop } from '../lib/loop.ts';
import { readOrMakeSecret } from '../lib/secret-file.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../store/store.ts';
import { digestOf, isWellFormed, keyStatus, newRawKey, type ApiKey } from './api-key.ts';
import { countActive, deadAmong, findKey, insertKey, listKeys, lockKey, touchKeys, updateKey, type KeyPlace } from './store.ts';

export { isWellFormed, keyPrefix, keyStatus, newRawKey, type ApiKey } from './api-key.ts';

/**
 * How long an answer of the database is believed. A key revoked on this worker
 * is forgotten at once; on another worker this is how long it can still pass.
 */
const believedMs = 1000;
const touchEveryMs = 60_000;
const dayMs = 86_400_000;
/** Good ones, of one owner, that its people have made: more is a script that forgets to revoke. */
const ownKeysMax = 100;

export interface MintOrder {
  owner: string;
  name: string | null;
  /** The owner's plan from now on. */
  tier?: string | undefined;
  expiresInDays: number | null;
  /** Told with the key. */
  createdBy: string;
  /** In the words of the audit log. */
  actor: string;
  raw?: string;
}

export interface Minted {
  key: ApiKey;
  /** In this answer and nowhere else. */
  raw: string;
}

interface Draft extends Pick<ApiKey, 'owner' | 'name' | 'createdBy'> {
  actor: string;
  raw?: string;
  /** null: for ever. */
  lifeMs: number | null;
  replaces?: { keyId: string; graceSeconds: number };
}

export interface KeysDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
}

interface Known {
  principal: Principal;
  expiresAt: Date | null;
  touchedMs: number;
}

export class Keys {
  readonly #store: Store;
  readonly #owners: Owners;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #known: LRUCache<string, Known>;
  /** Counts what was done to keys and plans: an answer that was asked for before that is not believed after it. */
  #changes = 0;
  #used = new Set<string>();
  #revocationListeners: ((keyId: string) => void)[] = [];
  /** Writes down which keys were used: at most once a minute for each, never on the path of a request. */
  readonly usageLoop = new Loop('key-usage', 30_000, () => this.#flushUsage());

  constructor({ store, owners, audit, clock }: KeysDeps) {
    this.#store = store;
    this.#owners = owners;
    this.#audit = audit;
    this.#clock = clock;
    this.#known = new LRUCache({ max: 10_000, ttl: believedMs });
    owners.onChanged((owner) => this.#forget((principal) => principal.owner === owner));
  }

  /** Mints a key, and its owner when that is new. Throws ValidationError for a tier that is not in the table. */
  async mint(order: MintOrder): Promise<Minted> {
    const { tier, expiresInDays, ...draft } = order;
    const minted = await this.#store.transaction(async (tx) => {
      await this.#owners.ensure(tx, order.owner, tier, order.actor);
      return this.#make(tx, { ...draft, lifeMs: lifeOf(expiresInDays) });
    });
    if (tier !== undefined) this.#owners.changed(order.owner);
    return minted;
  }

  /** Mints a key for somebody of the owner's. Throws ServiceError key_limit_reached. */
  mintOwn({ owner, actor, name, expiresInDays }: Pick<MintOrder, 'owner' | 'actor' | 'name' | 'expiresInDays'>): Promise<Minted> {
    return this.#store.transaction(async (tx) => {
      await this.#owners.ensure(tx, owner, undefined, actor);
      await this.#owners.lock(tx, owner);
      await this.#checkRoom(tx, owner);
      return this.#make(tx, { owner, actor, name, createdBy: actor, lifeMs: lifeOf(expiresInDays) });
    });
  }

  /**
   * The key of the owner `local`: the one given by the operator, else one that
   * is made on the first start and kept in `file`. Valid also when the database
   * is a new one. Throws where the given key is not of the form of a key.
   */
  async bootstrap({ file, given }: { file: string; given: string | null }): Promise<{ secret: string; made: boolean }> {
    if (given !== null && !isWellFormed(given))
      throw new Error('BERTH_BOOTSTRAP_API_KEY is not a key: brt_live_, 43 letters and digits, and their checksum');
    const { secret, made } = given === null ? readOrMakeSecret(file, newRawKey) : { secret: given, made: false };
    if (!(await findKey(this.#store, digestOf(secret))))
      await this.mint({ owner: 'local', name: 'bootstrap', expiresInDays: null, createdBy: 'bootstrap', actor: 'service', raw: secret });
    return { secret, made };
  }

  list(owner: string | undefined): Promise<ApiKey[]> {
    return listKeys(this.#store, owner);
  }

  /**
   * Tells since when the key is revoked: the first time stands. With an owner,
   * a key of another is one that is not there. Throws ServiceError key_not_found.
   */
  async revoke({ keyId, owner, actor }: KeyPlace & { actor: string }): Promise<Date> {
    const revokedAt = await this.#store.transaction(async (tx) => {
      const key = await this.#find(tx, { keyId, owner });
      if (key.revokedAt) return key.revokedAt;
      const now = this.#clock.now();
      await updateKey(tx, keyId, { revokedAt: now });
      await this.#audit.record(tx, { actor, action: 'key.revoked', owner: key.owner, subject: keyId });
      return now;
    });
    this.#tellRevoked(keyId);
    return revokedAt;
  }

  /**
   * Replaces a key by one of the same name that lives as long. The old one is
   * good for the grace, though never for longer than it was; without any it is
   * revoked. Throws ServiceError key_not_found, key_revoked, key_limit_reached.
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
  }): Promise<Minted> {
    const minted = await this.#store.transaction(async (tx) => {
      await this.#owners.lock(tx, owner);
      const old = await this.#find(tx, { keyId, owner });
      const now = this.#clock.now();
      if (keyStatus(old, now) !== 'active') throw new ServiceError('key_revoked', 'This key is good no more. Make a new one instead.');
      if (graceSeconds > 0) await this.#checkRoom(tx, owner);
      await updateKey(
        tx,
        keyId,
        graceSeconds === 0 ? { revokedAt: now } : { expiresAt: earlier(old.expiresAt, later(now, graceSeconds * 1000)) },
      );
      const lifeMs = old.expiresAt && old.expiresAt.getTime() - old.createdAt.getTime();
      return this.#make(tx, { owner, actor, name: old.name, createdBy: actor, lifeMs, replaces: { keyId, graceSeconds } });
    });
    if (graceSeconds === 0) this.#tellRevoked(keyId);
    else this.#forget((principal) => principal.keyId === keyId);
    return minted;
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

  /** Writes a key down. What is there already, as a key given by the operator can be, is not made again. */
  async #make(tx: Tables, { raw = newRawKey(), actor, lifeMs, replaces, ...draft }: Draft): Promise<Minted> {
    const now = this.#clock.now();
    const expiresAt = lifeMs === null ? null : later(now, lifeMs);
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

  /** Unknown, malformed and foreign are one answer. */
  async #find(tx: Tables, place: KeyPlace): Promise<ApiKey> {
    const key = isId('key', place.keyId) ? await lockKey(tx, place) : undefined;
    if (!key) throw new ServiceError('key_not_found', 'There is no such key.');
    return key;
  }

  /** Holds only under the owner's lock. */
  async #checkRoom(tx: Tables, owner: string): Promise<void> {
    if ((await countActive(tx, owner, this.#clock.now())) < ownKeysMax) return;
    throw new ServiceError('key_limit_reached', `There are ${ownKeysMax} keys already. Revoke one that is not used any more.`, {
      details: { limit: ownKeysMax },
    });
  }

  #tellRevoked(keyId: string): void {
    this.#forget((principal) => principal.keyId === keyId);
    for (const listener of this.#revocationListeners) listener(keyId);
  }

  #forget(concerns: (principal: Principal) => boolean): void {
    this.#changes += 1;
    for (const [digest, { principal }] of this.#known.entries()) if (concerns(principal)) this.#known.delete(digest);
  }

  async #lookUp(digest: Buffer): Promise<Principal> {
    const changes = this.#changes;
    const found = await findKey(this.#store, digest);
    if (!found || !timingSafeEqual(found.digest, digest) || found.key.revokedAt) throw invalidKey();
    const { owner, keyId, expiresAt, lastUsedAt } = found.key;
    const { requests_per_minute: requestsPerMinute } = await this.#owners.tierOf(owner);
    const known: Known = {
      principal: { owner, keyId, requestsPerMinute, scope: `owner:${owner}` },
      expiresAt,
      touchedMs: lastUsedAt?.getTime() ?? 0,
    };
    if (changes === this.#changes) this.#known.set(digest.toString('latin1'), known);
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

const lifeOf = (days: number | null): number | null => (days === null ? null : days * dayMs);
const later = (time: Date, ms: number): Date => new Date(time.getTime() + ms);
const earlier = (one: Date | null, other: Date): Date => (one && one < other ? one : other);

const invalidKey = (): ServiceError => new ServiceError('invalid_api_key', 'This API key is not valid.');
