/** Owners and their plans. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { OwnerId, ServiceError, ValidationError } from '@berth/contract';
import { LRUCache } from 'lru-cache';
import type { Audit } from '../audit/audit.ts';
import { bearerOf, type Guard, type Principal } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isStoreUnavailable, lastKnownMsMax, type Store, type Tables } from '../../store/store.ts';
import {
  countByTier,
  insertOwner,
  listOwners,
  lockOwner,
  readOwner,
  readPlan,
  readPlans,
  updatePlan,
  type OwnerFilter,
  type OwnerRecord,
  type PlanRecord,
} from './store.ts';
import type { Tier, Tiers } from './tiers.ts';

export { loadTiers, type Tier, type Tiers } from './tiers.ts';

/** Changes made by other workers take effect within this time. */
const cacheTtlMs = 1000;

export interface EffectivePlan {
  /** The tier of a running trial, else that of the plan. */
  tier: Tier;
  /** null: no trial is running. */
  trialEndsAt: Date | null;
}

interface OwnersDeps {
  store: Store;
  tiers: Tiers;
  audit: Audit;
  clock: Clock;
}

interface CachedPlan {
  plan: PlanRecord | undefined;
  /** When it was read or tried to be read, in ms of the monotonic clock. */
  readMs: number;
}

export class Owners {
  readonly tiers: Tiers;
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, CachedPlan>({ max: 10_000, ttl: lastKnownMsMax });
  /** Concurrent reads of one owner share a query. A change removes it, so that an outdated result is not cached. */
  readonly #pendingReads = new Map<string, Promise<PlanRecord | undefined>>();
  #changeListeners: ((owner: string) => void)[] = [];

  constructor({ store, tiers, audit, clock }: OwnersDeps) {
    this.tiers = tiers;
    this.#store = store;
    this.#audit = audit;
    this.#clock = clock;
  }

  /** The plan that applies now. The default tier for unknown owners and for tiers that no longer exist. */
  async getPlan(owner: string): Promise<EffectivePlan> {
    return this.getCachedPlan(owner) ?? this.#toEffectivePlan(await this.#read(owner));
  }

  /** The same from the cache; null where the cache has no fresh entry. */
  getCachedPlan(owner: string): EffectivePlan | null {
    const cached = this.#freshEntry(owner);
    return cached && this.#toEffectivePlan(cached.plan);
  }

  /** The only worker that takes new work of the owner; null: any. Read with the plan. @throws ServiceError store_unavailable */
  async pinOf(owner: string): Promise<string | null> {
    const cached = this.#freshEntry(owner);
    return (cached ? cached.plan : await this.#read(owner))?.pinnedWorkerId ?? null;
  }

  /** What is stored of an owner; the trial may have ended. @throws ServiceError store_unavailable */
  async find(owner: string): Promise<OwnerRecord | undefined> {
    return OwnerId.safeParse(owner).success ? readOwner(this.#store, owner) : undefined;
  }

  /** Sorted by id, each with the name of the tier that applies now. @throws ServiceError store_unavailable */
  async list(filter: OwnerFilter): Promise<(OwnerRecord & { effectiveTier: string })[]> {
    const records = await listOwners(this.#store, filter);
    return records.map((record) => ({ ...record, effectiveTier: this.#toEffectivePlan(record).tier.name }));
  }

  /** All tiers, each with the number of owners that it is stored for; the default one also has those of unknown tiers. */
  async countByTier(): Promise<{ tier: Tier; owners: number }[]> {
    const counts = new Map<string, number>();
    for (const [name, count] of await countByTier(this.#store)) {
      const known = this.tierNamed(name).name;
      counts.set(known, (counts.get(known) ?? 0) + count);
    }
    return this.tiers.names.map((name) => ({ tier: this.tierNamed(name), owners: counts.get(name) ?? 0 }));
  }

  /**
   * Sets the tier of an owner that exists and ends a running trial. False for an unknown owner.
   *
   * @throws ValidationError of `body.tier` for an unknown tier
   */
  async assign(owner: string, tier: string, actor: string): Promise<boolean> {
    if (!(await this.find(owner))) return false;
    this.checkTier(tier);
    await this.#store.transaction((tx) => this.setTier(tx, owner, tier, { actor, why: 'assigned' }));
    this.changed(owner);
    return true;
  }

  /** Pins an owner that exists to a worker; null: to none. False for an unknown owner. */
  async pin(owner: string, workerId: string | null, actor: string): Promise<boolean> {
    if (!(await this.find(owner))) return false;
    await this.#store.transaction(async (tx) => {
      await lockOwner(tx, owner);
      const from = (await readPlan(tx, owner))?.pinnedWorkerId ?? null;
      if (from === workerId) return;
      await updatePlan(tx, owner, { pinnedWorkerId: workerId });
      const action = workerId === null ? 'owner.unpinned' : 'owner.pinned';
      await this.#audit.record(tx, { actor, action, owner, subject: owner, details: { from, to: workerId } });
    });
    this.changed(owner);
    return true;
  }

  /** The names of the tiers that apply to these owners now. @throws ServiceError store_unavailable */
  async tierNamesOf(owners: readonly string[]): Promise<Map<string, string>> {
    const plans = await readPlans(this.#store, owners);
    return new Map(owners.map((owner) => [owner, this.#toEffectivePlan(plans.get(owner)).tier.name]));
  }

  async tierOf(owner: string): Promise<Tier> {
    return (await this.getPlan(owner)).tier;
  }

  tierNamed(name: string): Tier {
    const tier = this.tiers.get(name) ?? this.tiers.get(this.tiers.default);
    if (!tier) throw new Error('the default tier does not exist');
    return tier;
  }

  /** @throws ValidationError of `body.tier` for an unknown tier */
  checkTier(name: string): void {
    if (!this.tiers.get(name)) throw unknownTier(name, this.tiers.names);
  }

  /** Creates the owner if it is new, and sets its tier if one is given. @throws ValidationError for an unknown tier */
  async ensure(tx: Tables, owner: string, tier: string | undefined, actor: string): Promise<void> {
    if (tier === undefined) return insertOwner(tx, owner, this.tiers.default);
    this.checkTier(tier);
    await this.setTier(tx, owner, tier, { actor, why: 'assigned' });
  }

  /** Creates the owner if it is new and ends a running trial. Call {@link changed} after the commit. */
  async setTier(tx: Tables, owner: string, tier: string, { actor, why }: { actor: string; why: string }): Promise<void> {
    const { from, trial } = await this.#change(tx, owner, { tier, trialTier: null, trialEndsAt: null });
    if (from === tier && !trial) return;
    await this.#audit.record(tx, { actor, action: 'tier.changed', owner, subject: owner, details: { from: trial ?? from, to: tier, why } });
  }

  /** Creates the owner if it is new. The trial ends automatically. Call {@link changed} after the commit. */
  async startTrial(tx: Tables, owner: string, { tier, endsAt, actor }: { tier: string; endsAt: Date; actor: string }): Promise<void> {
    const { from, trial } = await this.#change(tx, owner, { trialTier: tier, trialEndsAt: endsAt });
    const details = { from: trial ?? from, to: tier, why: 'trial', until: endsAt.toISOString() };
    await this.#audit.record(tx, { actor, action: 'tier.changed', owner, subject: owner, details });
  }

  /** Serializes checks of an owner's limits, so that two requests cannot both take the last slot. */
  async lock(tx: Tables, owner: string): Promise<void> {
    await lockOwner(tx, owner);
  }

  /** Drops the owner from the cache. Call it after the commit of a change of its plan. */
  changed(owner: string): void {
    this.#cache.delete(owner);
    this.#pendingReads.delete(owner);
    for (const listener of this.#changeListeners) listener(owner);
  }

  /** Called for each owner whose plan was changed on this worker. */
  onChanged(listener: (owner: string) => void): void {
    this.#changeListeners.push(listener);
  }

  #freshEntry(owner: string): CachedPlan | null {
    const cached = this.#cache.get(owner);
    return cached && this.#clock.monotonicMs() - cached.readMs <= cacheTtlMs ? cached : null;
  }

  #toEffectivePlan(plan: PlanRecord | undefined): EffectivePlan {
    const trial = plan && this.#findActiveTrial(plan);
    if (trial) return { tier: this.tierNamed(trial.tier), trialEndsAt: trial.endsAt };
    return { tier: this.tierNamed(plan?.tier ?? this.tiers.default), trialEndsAt: null };
  }

  #findActiveTrial({ trialTier: tier, trialEndsAt: endsAt }: PlanRecord): { tier: string; endsAt: Date } | undefined {
    return tier !== null && endsAt !== null && endsAt > this.#clock.now() ? { tier, endsAt } : undefined;
  }

  async #read(owner: string): Promise<PlanRecord | undefined> {
    const readMs = this.#clock.monotonicMs();
    const pending = this.#pendingReads.get(owner) ?? readPlan(this.#store, owner);
    this.#pendingReads.set(owner, pending);
    const isCurrent = (): boolean => this.#pendingReads.get(owner) === pending;
    try {
      const plan = await pending;
      if (isCurrent()) this.#cache.set(owner, { plan, readMs });
      return plan;
    } catch (error) {
      const known = this.#cache.get(owner);
      if (!known || !isStoreUnavailable(error)) throw error;
      known.readMs = this.#clock.monotonicMs();
      return known.plan;
    } finally {
      if (isCurrent()) this.#pendingReads.delete(owner);
    }
  }

  /** Returns the previous tier, and that of a trial that was running. */
  async #change(tx: Tables, owner: string, change: Partial<PlanRecord>): Promise<{ from: string; trial: string | undefined }> {
    await insertOwner(tx, owner, this.tiers.default);
    await lockOwner(tx, owner);
    const before = await readPlan(tx, owner);
    if (!before) throw new Error(`the owner ${owner} was deleted`);
    await updatePlan(tx, owner, change);
    return { from: before.tier, trial: this.#findActiveTrial(before)?.tier };
  }
}

function unknownTier(tier: string, names: string[]): ValidationError {
  const expected = names.map((name) => `'${name}'`).join(', ');
  return new ValidationError([
    { loc: ['body', 'tier'], msg: `Input should be one of ${expected}`, type: 'literal_error', input: tier, ctx: { expected } },
  ]);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares digests in constant time, so that timing reveals neither length nor prefix of the secret. */
function createSecretComparer(secret: string): (credential: string) => boolean {
  const expected = digest(secret);
  return (credential) => timingSafeEqual(digest(credential), expected);
}

const operator: Principal = { owner: null, keyId: null, requestsPerMinute: null, scope: 'operator' };
/** Apart, so that who reads the metrics and who operates do not use up each other's rate. */
const scraper: Principal = { ...operator, scope: 'metrics' };

/** The guard of admin endpoints. */
export function adminGuard(adminKey: string): Guard {
  const isValid = createSecretComparer(adminKey);
  return ({ adminKey: credential }) => {
    if (!credential) throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
    if (!isValid(credential))
      throw new ServiceError('invalid_admin_key', 'This admin key is not valid. Check the configuration of the service.');
    return operator;
  };
}

/** The guard of `/metrics`: its own token where one is configured, else the admin key. */
export function metricsGuard({ metricsToken, adminKey }: { metricsToken: string | null; adminKey: string }): Guard {
  if (metricsToken === null) {
    const guard = adminGuard(adminKey);
    return async (credentials) => ({ ...(await guard(credentials)), scope: scraper.scope });
  }
  const isValid = createSecretComparer(metricsToken);
  return (credentials) => {
    const credential = bearerOf(credentials);
    if (!credential) throw new ServiceError('missing_metrics_token', 'Send the metrics token as `Authorization: Bearer TOKEN`.');
    if (!isValid(credential))
      throw new ServiceError('invalid_metrics_token', 'This metrics token is not valid. Check BERTH_METRICS_TOKEN of the service.');
    return scraper;
  };
}
