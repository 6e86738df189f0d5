/** Owners, and what their plan allows. */
import { LRUCache } from 'lru-cache';
import { ValidationError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store, Tables } from '../store/store.ts';
import { insertOwner, lockOwner, readPlan, updatePlan, type Plan } from './store.ts';
import type { Tier, Tiers } from './tiers.ts';

export { adminGuard, metricsGuard } from './guards.ts';
export { loadTiers } from './tiers.ts';
export type { Tier, Tiers } from './tiers.ts';

/** How long an answer of the database is believed: what another worker changes is seen here within that time. */
const believedMs = 1000;

export interface Standing {
  /** The one that counts: a trial's while it runs. */
  tier: Tier;
  /** null: no trial runs. */
  trialEndsAt: Date | null;
}

export interface OwnersDeps {
  store: Store;
  tiers: Tiers;
  audit: Audit;
  clock: Clock;
}

interface Known {
  plan: Plan | undefined;
  readMs: number;
}

export class Owners {
  readonly tiers: Tiers;
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #known = new LRUCache<string, Known>({ max: 10_000 });
  /** One question to the database for all who ask at the same time. A change takes them out, so that an answer from before it is not kept. */
  readonly #asked = new Map<string, Promise<Plan | undefined>>();
  #changeListeners: ((owner: string) => void)[] = [];

  constructor({ store, tiers, audit, clock }: OwnersDeps) {
    this.tiers = tiers;
    this.#store = store;
    this.#audit = audit;
    this.#clock = clock;
  }

  /** What an owner may do now. A tier that has left the file counts as the default one, and so does an owner that is not there yet. */
  async standing(owner: string): Promise<Standing> {
    return this.known(owner) ?? this.#standingIn(await this.#ask(owner));
  }

  /** The same without waiting; null where nothing fresh is known. */
  known(owner: string): Standing | null {
    const known = this.#known.get(owner);
    if (!known || this.#clock.monotonicMs() - known.readMs > believedMs) return null;
    return this.#standingIn(known.plan);
  }

  async tierOf(owner: string): Promise<Tier> {
    return (await this.standing(owner)).tier;
  }

  tierNamed(name: string): Tier {
    const tier = this.tiers.get(name) ?? this.tiers.get(this.tiers.default);
    if (!tier) throw new Error('the default tier is not in the table of tiers');
    return tier;
  }

  /** Throws ValidationError of `body.tier` for a tier that is not in the table. */
  checkTier(name: string): void {
    if (!this.tiers.get(name)) throw unknownTier(name, this.tiers.names);
  }

  /** Makes the owner when it is new, and puts it on the tier where one is given. Throws ValidationError for a tier that is not in the table. */
  async ensure(tx: Tables, owner: string, tier: string | undefined, actor: string): Promise<void> {
    if (tier === undefined) return insertOwner(tx, owner, this.tiers.default);
    this.checkTier(tier);
    await this.setTier(tx, owner, tier, { actor, why: 'assigned' });
  }

  /** Makes the owner when it is new. A trial is over with that. Call {@link changed} once it is committed. */
  async setTier(tx: Tables, owner: string, tier: string, { actor, why }: { actor: string; why: string }): Promise<void> {
    const { from, trial } = await this.#change(tx, owner, { tier, trialTier: null, trialEndsAt: null });
    if (from === tier && !trial) return;
    await this.#audit.record(tx, { actor, action: 'tier.changed', owner, subject: owner, details: { from: trial ?? from, to: tier, why } });
  }

  /** Makes the owner when it is new. The trial ends by itself. Call {@link changed} once it is committed. */
  async startTrial(tx: Tables, owner: string, { tier, endsAt, actor }: { tier: string; endsAt: Date; actor: string }): Promise<void> {
    const { from, trial } = await this.#change(tx, owner, { trialTier: tier, trialEndsAt: endsAt });
    const details = { from: trial ?? from, to: tier, why: 'trial', until: endsAt.toISOString() };
    await this.#audit.record(tx, { actor, action: 'tier.changed', owner, subject: owner, details });
  }

  /** Counts that decide about an owner's next step hold this lock, so that two requests cannot both be the last. */
  async lock(tx: Tables, owner: string): Promise<void> {
    await lockOwner(tx, owner);
  }

  /** Forgets what is known of an owner. Call it after the commit of what changed its plan. */
  changed(owner: string): void {
    this.#known.delete(owner);
    this.#asked.delete(owner);
    for (const listener of this.#changeListeners) listener(owner);
  }

  /** Told of each owner whose plan was changed on this worker. */
  onChanged(listener: (owner: string) => void): void {
    this.#changeListeners.push(listener);
  }

  #standingIn(plan: Plan | undefined): Standing {
    const trial = plan && this.#trialIn(plan);
    if (trial) return { tier: this.tierNamed(trial.tier), trialEndsAt: trial.endsAt };
    return { tier: this.tierNamed(plan?.tier ?? this.tiers.default), trialEndsAt: null };
  }

  /** The trial that runs now. */
  #trialIn({ trialTier: tier, trialEndsAt: endsAt }: Plan): { tier: string; endsAt: Date } | undefined {
    return tier !== null && endsAt !== null && endsAt > this.#clock.now() ? { tier, endsAt } : undefined;
  }

  async #ask(owner: string): Promise<Plan | undefined> {
    const readMs = this.#clock.monotonicMs();
    const asked = this.#asked.get(owner) ?? readPlan(this.#store, owner);
    this.#asked.set(owner, asked);
    const isOfNow = (): boolean => this.#asked.get(owner) === asked;
    try {
      const plan = await asked;
      if (isOfNow()) this.#known.set(owner, { plan, readMs });
      return plan;
    } finally {
      if (isOfNow()) this.#asked.delete(owner);
    }
  }

  /** The tier before, and that of a trial that was running. */
  async #change(tx: Tables, owner: string, change: Partial<Plan>): Promise<{ from: string; trial: string | undefined }> {
    await insertOwner(tx, owner, this.tiers.default);
    await lockOwner(tx, owner);
    const before = await readPlan(tx, owner);
    if (!before) throw new Error(`the owner ${owner} is gone`);
    await updatePlan(tx, owner, change);
    return { from: before.tier, trial: this.#trialIn(before)?.tier };
  }
}

function unknownTier(tier: string, names: string[]): ValidationError {
  const expected = names.map((name) => `'${name}'`).join(', ');
  return new ValidationError([
    { loc: ['body', 'tier'], msg: `Input should be one of ${expected}`, type: 'literal_error', input: tier, ctx: { expected } },
  ]);
}
