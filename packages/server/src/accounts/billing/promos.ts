/** Promo codes for the trial of a plan, created by the operator and redeemed once. */
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { RedeemRateLimiter } from '../credits/credits.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { codeDigest, newCode } from '@berth/lib/code.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Owners } from '../owners/owners.ts';
import type { Rates } from '../../rates/rates.ts';
import type { Store, Tables } from '../../store/store.ts';
import { findPromo, insertPromos, lockPromo, markRedeemed, readSubscriber, readTrial, type Promo, type Trial } from './store.ts';
import { isLive } from './subscriber.ts';

interface PromosDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  rates: Rates;
  clock: Clock;
}

const dayMs = 86_400_000;

export class Promos {
  readonly #deps: PromosDeps;
  readonly #redeemRateLimiter: RedeemRateLimiter;

  constructor(deps: PromosDeps) {
    this.#deps = deps;
    this.#redeemRateLimiter = new RedeemRateLimiter(deps.rates, 'promo-codes');
  }

  /** Returns the codes; only their digests are stored. @throws ValidationError for an unknown tier */
  async create(options: {
    tier: string;
    trialDays: number;
    count: number;
    expiresInDays: number | null;
    actor: string;
  }): Promise<string[]> {
    const { store, owners, audit, clock } = this.#deps;
    const { tier, trialDays, actor } = options;
    owners.checkTier(tier);
    const createdAt = clock.now();
    const expiresAt = options.expiresInDays === null ? null : new Date(createdAt.getTime() + options.expiresInDays * dayMs);
    const codes = Array.from({ length: options.count }, () => newCode('TRIAL'));
    const promos = codes.map((code) => ({
      promo: { codeId: newId('cod'), tier, trialDays, createdAt, expiresAt, redeemedBy: null },
      digest: codeDigest(code),
    }));
    await store.transaction(async (tx) => {
      await insertPromos(tx, promos);
      const details = { tier, trial_days: trialDays, count: options.count, expires_at: expiresAt?.toISOString() ?? null };
      await audit.record(tx, { actor, action: 'promo_codes.made', owner: null, subject: null, details });
    });
    return codes;
  }

  /** @throws ServiceError code_not_found, code_already_redeemed, code_expired, plan_active, rate_limited; then the code stays valid */
  async redeem({ owner, actor, code }: { owner: string; actor: string; code: string }): Promise<Trial> {
    const { store, owners, audit, clock } = this.#deps;
    const codeId = await this.#find(owner, code);
    const trial = await store.transaction(async (tx) => {
      await owners.ensure(tx, owner, undefined, actor);
      await owners.lock(tx, owner);
      const promo = this.#good(await lockPromo(tx, codeId));
      const trial = await this.#trialFor(tx, owner, promo);
      await markRedeemed(tx, codeId, { by: owner, at: clock.now() });
      await owners.startTrial(tx, owner, { ...trial, actor });
      const details = { tier: trial.tier, trial_ends_at: trial.endsAt.toISOString() };
      await audit.record(tx, { actor, action: 'promo.redeemed', owner, subject: codeId, details });
      return trial;
    });
    owners.changed(owner);
    return trial;
  }

  /** Unknown codes are rate-limited before anything is locked. */
  async #find(owner: string, code: string): Promise<string> {
    await this.#redeemRateLimiter.check(owner);
    const codeId = await findPromo(this.#deps.store, codeDigest(code));
    if (codeId !== undefined) return codeId;
    await this.#redeemRateLimiter.recordFailure(owner);
    throw new ServiceError('code_not_found', 'Unknown code. Check it for typing mistakes.');
  }

  #good(promo: Promo): Promo {
    const { owners, clock } = this.#deps;
    if (promo.redeemedBy !== null)
      throw new ServiceError('code_already_redeemed', 'This code has already been redeemed. Each code works once.');
    if (promo.expiresAt && promo.expiresAt <= clock.now())
      throw new ServiceError('code_expired', 'This code has expired. Ask for a new one.');
    if (!owners.tiers.get(promo.tier))
      throw new ServiceError('code_expired', 'The plan of this code is no longer offered. Ask for a new code.');
    return promo;
  }

  /** A trial never replaces a paid plan or a trial of another plan, and never shortens one of the same plan. */
  async #trialFor(tx: Tables, owner: string, { tier, trialDays }: Promo): Promise<Trial> {
    const now = this.#deps.clock.now();
    const endsAt = new Date(now.getTime() + trialDays * dayMs);
    const [subscriber, running] = [await readSubscriber(tx, owner), await readTrial(tx, owner)];
    if (isLive(subscriber?.status ?? null))
      throw new ServiceError('plan_active', 'You already have a paid plan. Redeem the code after it has ended.');
    if (running && running.endsAt > now && (running.tier !== tier || running.endsAt >= endsAt))
      throw new ServiceError('plan_active', `A trial is active until ${running.endsAt.toISOString()}. Redeem the code after that.`);
    return { tier, endsAt };
  }
}
