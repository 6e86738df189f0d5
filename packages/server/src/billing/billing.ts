/** Plans that are paid for at a payment provider, or tried with a code. */
import { ServiceError, ValidationError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import { bodyText } from '../http/body.ts';
import { fault, literalWords } from '../http/faults.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import { parseEvent } from './event.ts';
import { isKnown, noticeOf, type EventType, type Notice } from './notice.ts';
import { Promos } from './promos.ts';
import { PaymentProvider, type StripeSettings } from './provider.ts';
import { deleteEvents, insertEvent, markApplied, readSubscriber, updateSubscriber } from './store.ts';
import { isLive, subscriberAfter } from './subscriber.ts';

export interface BillingDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
  log: Log;
  stripe: StripeSettings;
  /** What becomes of events while there is no secret to check them by. */
  unsigned: 'refused' | 'taken';
}

type Outcome = 'applied' | 'ignored' | 'duplicate' | 'refused';

export interface BillingFacts {
  /** Those that nothing is made of are of the type `other`; of those that are refused none is believed. */
  events: { type: EventType | 'other'; outcome: Outcome; count: number }[];
  /** Events that were believed without a signature. */
  unsigned: number;
}

const actor = 'payment_provider';
/** Stripe repeats an event for three days. */
const keptDays = 90;
const pruneMs = 3_600_000;
const deletedAtOnce = 1000;

export class Billing {
  readonly promos: Promos;
  readonly #deps: BillingDeps;
  readonly #provider: PaymentProvider;
  readonly #events = new Map<string, BillingFacts['events'][number]>();
  #unsigned = 0;
  readonly pruning = new Loop('billing-pruning', pruneMs, (signal) => this.#prune(signal));

  constructor(deps: BillingDeps) {
    this.#deps = deps;
    this.#provider = new PaymentProvider(deps.stripe, deps.clock);
    this.promos = new Promos(deps);
  }

  /** What the operator must know at the start. */
  warnings(): string[] {
    const { stripe, unsigned } = this.#deps;
    if (stripe.webhookSecret !== null) return [];
    if (unsigned === 'taken')
      return [
        'Billing events are believed WITHOUT A SIGNATURE: whoever reaches this service can give any owner any plan. Set BERTH_STRIPE_WEBHOOK_SECRET.',
      ];
    return stripe.secretKey === null
      ? []
      : ['Plans can be bought but change nothing: billing events are refused until BERTH_STRIPE_WEBHOOK_SECRET is set.'];
  }

  /** Throws ServiceError plan_active, billing_not_configured or billing_provider_failed, and ValidationError for a tier that is not for sale. */
  async checkout(order: {
    owner: string;
    tier: string;
    successUrl?: string | undefined;
    cancelUrl?: string | undefined;
    origin: string;
  }): Promise<{ url: string; id: string }> {
    this.#provider.requireKey();
    const { owner, tier, origin, successUrl = `${origin}/docs`, cancelUrl = `${origin}/docs` } = order;
    const price = this.#priceOf(tier);
    const subscriber = await readSubscriber(this.#deps.store, owner);
    // A second subscription beside the first would be paid for as well.
    if (isLive(subscriber?.status ?? null))
      throw new ServiceError('plan_active', 'You have a plan that is paid for. Change it with `POST /v1/billing/portal`.');
    return this.#provider.checkout({ owner, tier, price, customerId: subscriber?.customerId ?? null, successUrl, cancelUrl });
  }

  /** Throws ServiceError billing_not_configured, billing_provider_failed, or no_subscription for who has never bought anything. */
  async portal({ owner, returnUrl, origin }: { owner: string; returnUrl?: string | undefined; origin: string }): Promise<{ url: string }> {
    this.#provider.requireKey();
    const subscriber = await readSubscriber(this.#deps.store, owner);
    if (!subscriber?.customerId)
      throw new ServiceError('no_subscription', 'Nothing has been bought yet. A plan is bought with `POST /v1/billing/checkout`.');
    return this.#provider.portal(subscriber.customerId, returnUrl ?? `${origin}/docs`);
  }

  /**
   * Takes an event as it came. Once it has answered, the event counts, and the
   * same one never counts again; where it throws, nothing has happened, and the
   * provider sends it again.
   *
   * Throws ServiceError invalid_signature, billing_not_configured or bad_request.
   */
  async webhook(raw: Buffer, signature: string | undefined): Promise<{ ignored: boolean; duplicate: boolean }> {
    const event = parseEvent(await this.#believed(raw, signature));
    const notice = noticeOf(event, this.#deps.owners.tiers);
    if (typeof notice === 'string') {
      this.#count(isKnown(event.type) ? event.type : 'other', 'ignored');
      if (notice === 'tier')
        this.#deps.log.warn({ event: event.id, type: event.type }, 'an event tells of no plan that is in the tiers file');
      return { ignored: true, duplicate: false };
    }
    const outcome = await this.#apply(notice);
    this.#count(notice.type, outcome);
    this.#deps.log.info({ event: notice.eventId, type: notice.type, owner: notice.owner, outcome }, 'billing event');
    if (outcome === 'applied') this.#deps.owners.changed(notice.owner);
    return { ignored: outcome === 'ignored', duplicate: outcome === 'duplicate' };
  }

  facts(): BillingFacts {
    return { events: [...this.#events.values()], unsigned: this.#unsigned };
  }

  #priceOf(tier: string): string {
    const { tiers } = this.#deps.owners;
    const price = tiers.priceOf(tier);
    if (price !== undefined) return price;
    const forSale = tiers.names.filter((name) => tiers.priceOf(name) !== undefined);
    throw new ValidationError([fault(['body', 'tier'], literalWords(forSale), tier)]);
  }

  /** The text of a body that may be believed. */
  async #believed(raw: Buffer, signature: string | undefined): Promise<string> {
    const { stripe, unsigned } = this.#deps;
    // A text that is not UTF-8 is none that anybody has signed: what it is read as would stand for several.
    const text = bodyText(raw);
    try {
      if (stripe.webhookSecret !== null) await this.#provider.verify(text ?? '', signature, stripe.webhookSecret);
      else if (unsigned === 'refused') throw new ServiceError('billing_not_configured', 'This service has no secret to check events by.');
      else this.#unsigned += 1;
    } catch (error) {
      this.#count('other', 'refused');
      throw error;
    }
    return text ?? '';
  }

  /** All in one transaction: the event is known exactly when what it says has come true. */
  #apply(notice: Notice): Promise<Outcome> {
    const { store, owners, audit, clock } = this.#deps;
    const { eventId, owner, type, news } = notice;
    return store.transaction(async (tx) => {
      if (!(await insertEvent(tx, { ...notice, receivedAt: clock.now() }))) return 'duplicate';
      await owners.ensure(tx, owner, undefined, actor);
      await owners.lock(tx, owner);
      const before = await readSubscriber(tx, owner);
      const after = before && subscriberAfter(before, notice, owners.tiers.default);
      if (!after) return 'ignored';
      await markApplied(tx, eventId);
      await updateSubscriber(tx, owner, after);
      // A plan that begins is the end of a trial; news that give none are not.
      if (news.kind === 'lives' || news.kind === 'paid' || after.tier !== before.tier)
        await owners.setTier(tx, owner, after.tier, { actor, why: `${type} ${eventId}` });
      if (news.kind === 'payment_failed')
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
    const before = new Date(this.#deps.clock.now().getTime() - keptDays * 86_400_000);
    while (!signal.aborted && (await deleteEvents(this.#deps.store, before, deletedAtOnce)) === deletedAtOnce);
  }
}
