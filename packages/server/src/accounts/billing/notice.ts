/** Derives the change of an owner's subscription from a Stripe event. */
import { OwnerId, ValidationError } from '@berth/contract';
import { z } from 'zod';
import { parsePart, validationIssue } from '@berth/lib/validation/issues.ts';
import type { Tiers } from '../owners/owners.ts';

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

/** Safe in the database and in log lines. */
const Id = z.string().regex(/^[\x21-\x7e]{1,255}$/);
/** An id, or the whole object where the account expands it. */
const Reference = z.union([Id, z.object({ id: Id }).transform(({ id }) => id)]);
const Time = z
  .int()
  .min(0)
  .max(253_402_300_799)
  .transform((seconds) => new Date(seconds * 1000));

/** Malformed fields count as absent, so that an unusual event is ignored instead of failing forever. */
const maybe = <S extends z.ZodType>(schema: S) => schema.nullable().catch(null);
const listOf = <S extends z.ZodType>(schema: S) => maybe(z.object({ data: z.array(maybe(schema)) }));

const Metadata = z.object({ owner: maybe(OwnerId), tier: maybe(z.string()) });
/** A line of a subscription or an invoice. The place of the price depends on the account's API version. */
const Line = z.object({
  amount: maybe(z.number()),
  price: maybe(Reference),
  pricing: maybe(z.object({ price_details: maybe(z.object({ price: maybe(Reference) })) })),
});
const Details = z.object({ metadata: maybe(Metadata), subscription: maybe(Reference) });

/** A checkout session, a subscription or an invoice. */
const Subject = z.object({
  id: maybe(Id),
  created: maybe(Time),
  status: maybe(z.string()),
  payment_status: maybe(z.string()),
  customer: maybe(Reference),
  subscription: maybe(Reference),
  metadata: maybe(Metadata),
  items: listOf(Line),
  lines: listOf(Line),
  parent: maybe(z.object({ subscription_details: maybe(Details) })),
  subscription_details: maybe(Details),
});
type Subject = z.infer<typeof Subject>;

const Event = z.object({ id: Id, type: z.string().min(1).max(255), created: Time, data: z.object({ object: Subject }) });
type Event = z.infer<typeof Event>;

/** @throws ValidationError */
export function parseEvent(text: string): Event {
  const parsed = parsePart('body', Event, readJson(text));
  // Safe: the schema has produced it.
  if (parsed.ok) return parsed.value as Event;
  throw new ValidationError(parsed.issues, parsed.omitted);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const issue = { type: 'json_invalid', msg: 'JSON decode error', ctx: { error: 'not valid JSON' } };
    throw new ValidationError([validationIssue(['body'], issue, {})]);
  }
}
