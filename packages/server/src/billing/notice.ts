/** Derives the change of an owner's subscription from a Stripe event. */
import type { Tiers } from '../owners/owners.ts';
import type { Event, Subject } from './event.ts';

export type EventType = keyof typeof readers;

/** Subscription status, as Stripe names it. */
export type Status = 'active' | 'trialing' | 'past_due' | 'unpaid' | 'paused' | 'canceled' | 'incomplete_expired';

export interface Notice {
  eventId: string;
  type: EventType;
  madeAt: Date;
  owner: string;
  customerId: string | null;
  subscriptionId: string | null;
  /** Start of the subscription. */
  startedAt: Date | null;
  change: SubscriptionChange;
}

export type SubscriptionChange =
  /** A subscription to this plan is active. */
  | { kind: 'lives'; status: Status; tier: string }
  /** A subscription has ended. */
  | { kind: 'ends'; status: Status }
  /** `isNamed`: the metadata names the plan; otherwise it is derived from the prices of the invoice. */
  | { kind: 'paid'; tier: string | null; isNamed: boolean }
  | { kind: 'payment_failed' }
  /** Signed up, but nothing is paid yet. */
  | { kind: 'signed_up' };

/** Why an event is ignored: its type, no owner, a status without effect, or no known plan. */
export type IgnoreReason = 'type' | 'owner' | 'status' | 'tier';

interface Plan {
  tier: string | null;
  isNamed: boolean;
}

export function toNotice(event: Event, tiers: Tiers): Notice | IgnoreReason {
  const { id: eventId, type, created: madeAt } = event;
  const { object } = event.data;
  if (!isHandled(type)) return 'type';
  const details = [object.parent?.subscription_details, object.subscription_details];
  const metadata = [object.metadata, ...details.map((each) => each?.metadata)];
  const owner = firstOf(metadata.map((each) => each?.owner));
  if (owner === null) return 'owner';
  const named = firstOf(metadata.map((each) => each?.tier).filter((name) => typeof name === 'string' && tiers.get(name) !== undefined));
  const change = readers[type](object, { tier: named ?? findPurchasedTier(object, tiers), isNamed: named !== null });
  if (typeof change === 'string') return change;
  const isSubscription = type.startsWith('customer.subscription.');
  const subscriptionId = isSubscription ? object.id : firstOf([object.subscription, ...details.map((each) => each?.subscription)]);
  // A checkout completes a moment after its subscription starts.
  const startedAt = isSubscription ? object.created : type === 'checkout.session.completed' ? madeAt : null;
  return { eventId, type, madeAt, owner, customerId: object.customer, subscriptionId, startedAt, change };
}

/** Whether events of this type are handled. */
export const isHandled = (type: string): type is EventType => Object.hasOwn(readers, type);

const readers = {
  'checkout.session.completed': ({ payment_status: payment }, { tier }) =>
    // If the plan is unknown, the events of the subscription provide it by its price.
    tier === null || payment === 'unpaid' ? { kind: 'signed_up' } : { kind: 'lives', status: 'active', tier },
  'customer.subscription.created': toSubscriptionChange,
  'customer.subscription.updated': toSubscriptionChange,
  'customer.subscription.deleted': () => ({ kind: 'ends', status: 'canceled' }),
  'invoice.paid': (_, plan) => ({ kind: 'paid', ...plan }),
  'invoice.payment_failed': () => ({ kind: 'payment_failed' }),
} satisfies Record<string, (subject: Subject, plan: Plan) => SubscriptionChange | IgnoreReason>;

function toSubscriptionChange({ status }: Subject, { tier }: Plan): SubscriptionChange | IgnoreReason {
  switch (status) {
    case 'unpaid':
    case 'paused':
    case 'canceled':
    case 'incomplete_expired':
      return { kind: 'ends', status };
    case 'active':
    case 'trialing':
    case 'past_due':
      return tier === null ? 'tier' : { kind: 'lives', status, tier };
    // `incomplete`, or a status added by Stripe later.
    default:
      return 'status';
  }
}

/** The plan of the paid lines, if there is exactly one. Lines with a negative amount are refunds of an earlier plan. */
function findPurchasedTier({ items, lines }: Subject, { prices }: Tiers): string | null {
  const purchased = new Set<string>();
  for (const line of [...(items?.data ?? []), ...(lines?.data ?? [])]) {
    const tier = prices.get(line?.price ?? line?.pricing?.price_details?.price ?? '');
    if (tier !== undefined && (line?.amount ?? 0) >= 0) purchased.add(tier);
  }
  const [tier, ...others] = purchased;
  return others.length > 0 ? null : (tier ?? null);
}

const firstOf = (values: readonly (string | null | undefined)[]): string | null =>
  values.find((value) => typeof value === 'string') ?? null;
