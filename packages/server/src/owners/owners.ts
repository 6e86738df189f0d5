/** Owners and their plans. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { OwnerId, ServiceError, ValidationError } from '@berth/contract';
import { LRUCache } from 'lru-cache';
import type { Audit } from '../audit/audit.ts';
import { bearerOf, type Guard, type Principal } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store, Tables } from '../store/store.ts';
import { insertOwner, lockOwner, readOwner, readPlan, updatePlan, type OwnerRecord, type PlanRecord } from './store.ts';
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
  readMs: number;
}

export class Owners {
  readonly tiers: Tiers;
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, CachedPlan>({ max: 10_000 });
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
    const cached = this.#cache.get(owner);
    if (!cached || this.#clock.monotonicMs() - cached.readMs > cacheTtlMs) return null;
    return this.#toEffectivePlan(cached.plan);
  }

  /** What is stored of an owner; the trial may have ended. @throws ServiceError store_unavailable */
  async find(owner: string): Promise<OwnerRecord | undefined> {
    return OwnerId.safeParse(owner).success ? readOwner(this.#store, owner) : undefined;
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

/** The guard of admin endpoints. */
export function adminGuard(adminKey: string): Guard {
  const isValid = createSecretComparer(adminKey);
  return ({ adminKey: credential }) => {
    if (!credential) throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
    if (!isValid(credential)) throw new ServiceError('invalid_admin_key', 'This admin key is not valid.');
    return operator;
  };
}

/** The guard of `/metrics`: its own token where one is configured, else the admin key. */
export function metricsGuard({ metricsToken, adminKey }: { metricsToken: string | null; adminKey: string }): Guard {
  if (metricsToken === null) return adminGuard(adminKey);
  const isValid = createSecretComparer(metricsToken);
  return (credentials) => {
    const credential = bearerOf(credentials);
    if (!credential) throw new ServiceError('missing_metrics_token', 'Send the metrics token as `Authorization: Bearer TOKEN`.');
    if (!isValid(credential)) throw new ServiceError('invalid_metrics_token', 'This metrics token is not valid.');
    return operator;
  };
}
