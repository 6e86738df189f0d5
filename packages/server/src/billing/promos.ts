/** Codes that are worth a trial of a plan: made by the operator, redeemed once. */
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { Misses } from '../credits/credits.ts';
import type { Clock } from '../lib/clock.ts';
import { codeDigest, newCode } from '../lib/code.ts';
import { newId } from '../lib/ids.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../store/store.ts';
import { findPromo, insertPromos, lockPromo, markRedeemed, readSubscriber, readTrial, type Promo, type Trial } from './store.ts';
import { isLive } from './subscriber.ts';

export interface PromosDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
}

const dayMs = 86_400_000;

export class Promos {
  readonly #deps: PromosDeps;
  readonly #misses = new Misses();

  constructor(deps: PromosDeps) {
    this.#deps = deps;
  }

  /** The codes are in this answer and nowhere else. Throws ValidationError for a tier that is not in the table. */
  async make(order: { tier: string; trialDays: number; count: number; expiresInDays: number | null; actor: string }): Promise<string[]> {
    const { store, owners, audit, clock } = this.#deps;
    const { tier, trialDays, actor } = order;
    owners.checkTier(tier);
    const createdAt = clock.now();
    const expiresAt = order.expiresInDays === null ? null : new Date(createdAt.getTime() + order.expiresInDays * dayMs);
    const codes = Array.from({ length: order.count }, () => newCode('TRIAL'));
    const promos = codes.map((code) => ({
      promo: { codeId: newId('cod'), tier, trialDays, createdAt, expiresAt, redeemedBy: null },
      digest: codeDigest(code),
    }));
    await store.transaction(async (tx) => {
      await insertPromos(tx, promos);
      const details = { tier, trial_days: trialDays, count: order.count, expires_at: expiresAt?.toISOString() ?? null };
      await audit.record(tx, { actor, action: 'promo_codes.made', owner: null, subject: null, details });
    });
    return codes;
  }

  /** Throws ServiceError code_not_found, code_already_redeemed, code_expired, plan_active or rate_limited. A code that is refused stays as it was. */
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

  /** Codes that there are not are counted before anything is locked for them. */
  async #find(owner: string, code: string): Promise<string> {
    await this.#misses.check(owner);
    const codeId = await findPromo(this.#deps.store, codeDigest(code));
    if (codeId !== undefined) return codeId;
    await this.#misses.count(owner);
    throw new ServiceError('code_not_found', 'There is no such code.');
  }

  #good(promo: Promo): Promo {
    const { owners, clock } = this.#deps;
    if (promo.redeemedBy !== null) throw new ServiceError('code_already_redeemed', 'This code was redeemed before. Each code works once.');
    if (promo.expiresAt && promo.expiresAt <= clock.now()) throw new ServiceError('code_expired', 'This code has expired.');
    if (!owners.tiers.get(promo.tier)) throw new ServiceError('code_expired', 'The plan of this code is not offered any more.');
    return promo;
  }

  /** A trial never takes anything from an owner: neither a plan that is paid for, nor a trial of another plan, nor days of this one. */
  async #trialFor(tx: Tables, owner: string, { tier, trialDays }: Promo): Promise<Trial> {
    const now = this.#deps.clock.now();
    const endsAt = new Date(now.getTime() + trialDays * dayMs);
    const [subscriber, running] = [await readSubscriber(tx, owner), await readTrial(tx, owner)];
    if (isLive(subscriber?.status ?? null))
      throw new ServiceError('plan_active', 'You have a plan that is paid for. The code can be used when it has ended.');
    if (running && running.endsAt > now && (running.tier !== tier || running.endsAt >= endsAt))
      throw new ServiceError('plan_active', `A trial runs until ${running.endsAt.toISOString()}. The code can be used after it.`);
    return { tier, endsAt };
  }
}
