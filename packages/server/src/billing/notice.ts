/** What an event of the payment provider says of an owner. */
import type { Tiers } from '../owners/owners.ts';
import type { Event, Subject } from './event.ts';

export type EventType = keyof typeof readers;

/** Of a subscription, in the provider's words. */
export type Status = 'active' | 'trialing' | 'past_due' | 'unpaid' | 'paused' | 'canceled' | 'incomplete_expired';

/** Whose it is, and what it is about. */
export interface Notice {
  eventId: string;
  type: EventType;
  madeAt: Date;
  owner: string;
  customerId: string | null;
  subscriptionId: string | null;
  /** When that subscription began. */
  startedAt: Date | null;
  news: News;
}

export type News =
  /** A subscription to this plan is good. */
  | { kind: 'lives'; status: Status; tier: string }
  /** A subscription gives nothing any more. */
  | { kind: 'ends'; status: Status }
  /** `isNamed`: the plan is told by name, and not only by what the invoice's lines are priced at. */
  | { kind: 'paid'; tier: string | null; isNamed: boolean }
  | { kind: 'payment_failed' }
  /** Somebody has signed up, and nothing is paid yet. */
  | { kind: 'signed_up' };

/** Why an event says nothing: another type, no owner, a state that gives and takes nothing, a plan that is not told. */
export type Silence = 'type' | 'owner' | 'status' | 'tier';

interface Plan {
  tier: string | null;
  isNamed: boolean;
}

export function noticeOf(event: Event, tiers: Tiers): Notice | Silence {
  const { id: eventId, type, created: madeAt } = event;
  const { object } = event.data;
  if (!isKnown(type)) return 'type';
  const details = [object.parent?.subscription_details, object.subscription_details];
  const metadata = [object.metadata, ...details.map((each) => each?.metadata)];
  const owner = firstOf(metadata.map((each) => each?.owner));
  if (owner === null) return 'owner';
  const named = firstOf(metadata.map((each) => each?.tier).filter((name) => typeof name === 'string' && tiers.get(name) !== undefined));
  const news = readers[type](object, { tier: named ?? boughtIn(object, tiers), isNamed: named !== null });
  if (typeof news === 'string') return news;
  const isSubscription = type.startsWith('customer.subscription.');
  const subscriptionId = isSubscription ? object.id : firstOf([object.subscription, ...details.map((each) => each?.subscription)]);
  // A checkout is completed a moment after its subscription has begun.
  const startedAt = isSubscription ? object.created : type === 'checkout.session.completed' ? madeAt : null;
  return { eventId, type, madeAt, owner, customerId: object.customer, subscriptionId, startedAt, news };
}

/** Whether anything is made of events of this type. */
export const isKnown = (type: string): type is EventType => Object.hasOwn(readers, type);

const readers = {
  'checkout.session.completed': ({ payment_status: payment }, { tier }) =>
    // Without a plan its name the subscription's own events tell it, by its price.
    tier === null || payment === 'unpaid' ? { kind: 'signed_up' } : { kind: 'lives', status: 'active', tier },
  'customer.subscription.created': subscriptionNews,
  'customer.subscription.updated': subscriptionNews,
  'customer.subscription.deleted': () => ({ kind: 'ends', status: 'canceled' }),
  'invoice.paid': (_, plan) => ({ kind: 'paid', ...plan }),
  'invoice.payment_failed': () => ({ kind: 'payment_failed' }),
} satisfies Record<string, (subject: Subject, plan: Plan) => News | Silence>;

function subscriptionNews({ status }: Subject, { tier }: Plan): News | Silence {
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
    // Not begun (`incomplete`), or a state that is newer than this.
    default:
      return 'status';
  }
}

/** The plan of what is paid for, where there is just one. A line with an amount below zero is money given back for an earlier one. */
function boughtIn({ items, lines }: Subject, { prices }: Tiers): string | null {
  const bought = new Set<string>();
  for (const line of [...(items?.data ?? []), ...(lines?.data ?? [])]) {
    const tier = prices.get(line?.price ?? line?.pricing?.price_details?.price ?? '');
    if (tier !== undefined && (line?.amount ?? 0) >= 0) bought.add(tier);
  }
  const [tier, ...others] = bought;
  return others.length > 0 ? null : (tier ?? null);
}

const firstOf = (values: readonly (string | null | undefined)[]): string | null =>
  values.find((value) => typeof value === 'string') ?? null;
