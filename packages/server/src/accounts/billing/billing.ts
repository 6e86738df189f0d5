/** Paid plans (Stripe) and trials (promo codes). */
import { ServiceError, ValidationError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { bodyText } from '../../http/body/body.ts';
import { describeLiterals, validationIssue } from '@berth/lib/validation/issues.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Owners } from '../owners/owners.ts';
import type { Rates } from '../../rates/rates.ts';
import type { Store } from '../../store/store.ts';
import { isHandled, parseEvent, toNotice, type EventType, type Notice } from './notice.ts';
import { Promos } from './promos.ts';
import { PaymentProvider, toleranceSeconds, type StripeSettings } from './provider.ts';
import {
  deleteEvents,
  insertEvent,
  listSubscriptions,
  markApplied,
  readSubscriber,
  updateSubscriber,
  type SubscriptionRecord,
} from './store.ts';
import { isLive, subscriberAfter } from './subscriber.ts';

export type { SubscriptionRecord } from './store.ts';

export interface BillingSettings {
  stripe: StripeSettings;
  /** How events are treated without a signing secret. */
  unsignedEvents: 'reject' | 'accept';
  /** Whether the operator has set anything of billing. If not, there is nothing to warn of at the start. */
  isConfigured: boolean;
}

export interface BillingDeps extends BillingSettings {
  store: Store;
  owners: Owners;
  audit: Audit;
  rates: Rates;
  clock: Clock;
  log: Log;
}

/** What is insecure or without effect. Where nothing of billing is set, no plan is for sale, and nothing is. */
export function billingRisks({ stripe, unsignedEvents, isConfigured }: BillingSettings): string[] {
  if (!isConfigured || stripe.webhookSecret !== null) return [];
  if (unsignedEvents === 'accept')
    return [
      'Billing events are accepted WITHOUT A SIGNATURE: anyone who can reach this service can assign any plan to any owner. ' +
        'Set BERTH_STRIPE_WEBHOOK_SECRET.',
    ];
  return stripe.secretKey === null
    ? []
    : ['Purchased plans do not take effect: billing events are refused until BERTH_STRIPE_WEBHOOK_SECRET is set.'];
}

type Outcome = 'applied' | 'ignored' | 'duplicate' | 'refused';

interface BillingStats {
  /** Unhandled types and refused events are counted as `other`. */
  events: { type: EventType | 'other'; outcome: Outcome; count: number }[];
  /** Events accepted without a signature. */
  unsigned: number;
}

const actor = 'payment_provider';
/** Stripe repeats an event for three days. */
const retentionDays = 90;
const pruneMs = 3_600_000;
const deleteBatchSize = 1000;

export class Billing {
  readonly promos: Promos;
  readonly #deps: BillingDeps;
  readonly #provider: PaymentProvider;
  readonly #events = new Map<string, BillingStats['events'][number]>();
  #unsigned = 0;
  readonly pruning = new Loop('billing-pruning', pruneMs, (signal) => this.#prune(signal));

  constructor(deps: BillingDeps) {
    this.#deps = deps;
    this.#provider = new PaymentProvider(deps.stripe, deps.clock);
    this.promos = new Promos(deps);
  }

  /** Warnings for the operator, logged at start. */
  warnings(): string[] {
    return billingRisks(this.#deps);
  }

  /** @throws ServiceError plan_active, billing_not_configured, billing_provider_failed; ValidationError for a tier without a price */
  async checkout(options: {
    owner: string;
    tier: string;
    successUrl?: string | undefined;
    cancelUrl?: string | undefined;
    origin: string;
  }): Promise<{ url: string; id: string }> {
    this.#provider.requireKey();
    const { owner, tier, origin, successUrl = `${origin}/docs`, cancelUrl = `${origin}/docs` } = options;
    const price = this.#priceOf(tier);
    const subscriber = await readSubscriber(this.#deps.store, owner);
    // A second subscription would be charged in addition to the first.
    if (isLive(subscriber?.status ?? null))
      throw new ServiceError('plan_active', 'You already have a paid plan. Change it with `POST /v1/billing/portal`.');
    return this.#provider.checkout({ owner, tier, price, customerId: subscriber?.customerId ?? null, successUrl, cancelUrl });
  }

  /** @throws ServiceError billing_not_configured, billing_provider_failed, no_subscription */
  async portal({ owner, returnUrl, origin }: { owner: string; returnUrl?: string | undefined; origin: string }): Promise<{ url: string }> {
    this.#provider.requireKey();
    const subscriber = await readSubscriber(this.#deps.store, owner);
    if (!subscriber?.customerId)
      throw new ServiceError('no_subscription', 'You have no subscription yet. Buy a plan with `POST /v1/billing/checkout`.');
    return this.#provider.portal(subscriber.customerId, returnUrl ?? `${origin}/docs`);
  }

  /**
   * Handles an event exactly once. When it throws, nothing has happened and the
   * provider sends the event again.
   *
   * @throws ServiceError invalid_signature, billing_not_configured; ValidationError for a body that is no event
   */
  async webhook(raw: Buffer, signature: string | undefined): Promise<{ ignored: boolean; duplicate: boolean }> {
    const event = parseEvent(await this.#readVerified(raw, signature));
    this.#checkTime(event.created);
    const notice = toNotice(event, this.#deps.owners.tiers);
    if (typeof notice === 'string') {
      this.#count(isHandled(event.type) ? event.type : 'other', 'ignored');
      if (notice === 'tier') this.#deps.log.warn({ event: event.id, type: event.type }, 'billing event without a known tier ignored');
      return { ignored: true, duplicate: false };
    }
    const outcome = await this.#apply(notice);
    this.#count(notice.type, outcome);
    this.#deps.log.info({ event: notice.eventId, type: notice.type, owner: notice.owner, outcome }, 'billing event handled');
    if (outcome === 'applied') this.#deps.owners.changed(notice.owner);
    return { ignored: outcome === 'ignored', duplicate: outcome === 'duplicate' };
  }

  /** Subscriptions that were paid, or whose last payment failed and is repeated. @throws ServiceError store_unavailable */
  subscriptions(): Promise<SubscriptionRecord[]> {
    return listSubscriptions(this.#deps.store, ['active', 'past_due']);
  }

  stats(): BillingStats {
    return { events: [...this.#events.values()], unsigned: this.#unsigned };
  }

  #priceOf(tier: string): string {
    const { tiers } = this.#deps.owners;
    const price = tiers.priceOf(tier);
    if (price !== undefined) return price;
    const forSale = tiers.names.filter((name) => tiers.priceOf(name) !== undefined);
    throw new ValidationError([validationIssue(['body', 'tier'], describeLiterals(forSale), tier)]);
  }

  /** The newest event wins, so one from the future would stop all changes of its owner until then. @throws ValidationError */
  #checkTime(madeAt: Date): void {
    if (madeAt.getTime() - this.#deps.clock.now().getTime() <= toleranceSeconds * 1000) return;
    this.#count('other', 'refused');
    const issue = { type: 'value_error', msg: 'The event was created in the future. Check the clocks of both sides.' };
    throw new ValidationError([validationIssue(['body', 'created'], issue, madeAt.toISOString())]);
  }

  /** The text of a body whose signature is valid. */
  async #readVerified(raw: Buffer, signature: string | undefined): Promise<string> {
    const { stripe, unsignedEvents } = this.#deps;
    // Invalid UTF-8 must not be verified in decoded form: several inputs decode to the same text.
    const text = bodyText(raw);
    try {
      if (stripe.webhookSecret !== null) await this.#provider.verify(text ?? '', signature, stripe.webhookSecret);
      else if (unsignedEvents === 'reject')
        throw new ServiceError(
          'billing_not_configured',
          'Billing events are not accepted on this service, because their signature cannot be checked. The operator sets ' +
            'BERTH_STRIPE_WEBHOOK_SECRET to the signing secret of the webhook, or BERTH_ALLOW_UNSIGNED_WEBHOOKS=1 to accept any event.',
        );
      else this.#countUnsigned();
    } catch (error) {
      this.#count('other', 'refused');
      throw error;
    }
    return text ?? '';
  }

  #countUnsigned(): void {
    if (this.#unsigned === 0) this.#deps.log.warn({}, 'billing event without a signature accepted: BERTH_STRIPE_WEBHOOK_SECRET is not set');
    this.#unsigned += 1;
  }

  /** Applies a notice in one transaction, so that an event is recorded exactly when it is applied. */
  #apply(notice: Notice): Promise<Outcome> {
    const { store, owners, audit, clock } = this.#deps;
    const { eventId, owner, type, change } = notice;
    return store.transaction(async (tx) => {
      if (!(await insertEvent(tx, { ...notice, receivedAt: clock.now() }))) return 'duplicate';
      await owners.ensure(tx, owner, undefined, actor);
      await owners.lock(tx, owner);
      const before = await readSubscriber(tx, owner);
      const after = before && subscriberAfter(before, notice, owners.tiers.default);
      if (!after) return 'ignored';
      await markApplied(tx, eventId);
      await updateSubscriber(tx, owner, after);
      // A plan that starts ends a trial; other changes do not.
      if (change.kind === 'lives' || change.kind === 'paid' || after.tier !== before.tier)
        await owners.setTier(tx, owner, after.tier, { actor, why: `${type} ${eventId}` });
      if (change.kind === 'payment_failed')
        await audit.record(tx, {
          actor,
          action: 'billing.payment_failed',
          owner,
          subject: after.subscriptionId,
          details: { event_id: eventId },
        });
      return 'applied';
    });
  }

  #count(type: EventType | 'other', outcome: Outcome): void {
    const key = `${type} ${outcome}`;
    const counted = this.#events.get(key) ?? { type, outcome, count: 0 };
    this.#events.set(key, { ...counted, count: counted.count + 1 });
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const before = new Date(this.#deps.clock.now().getTime() - retentionDays * 86_400_000);
    while (!signal.aborted && (await deleteEvents(this.#deps.store, before, deleteBatchSize)) === deleteBatchSize);
  }
}
