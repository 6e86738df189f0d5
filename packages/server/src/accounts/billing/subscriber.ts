/** An owner's subscription, and how events change it. */
import type { Notice, Status } from './notice.ts';

export interface Subscriber {
  tier: string;
  customerId: string | null;
  /** The current subscription, or the last one. */
  subscriptionId: string | null;
  status: Status | null;
  /** Start of that subscription. */
  startedAt: Date | null;
  /** Creation time of the newest applied event. */
  eventAt: Date | null;
}

/** `past_due`: a payment failed and Stripe retries it. The plan stays until Stripe stops. */
export const isLive = (status: Status | null): boolean => status === 'active' || status === 'trialing' || status === 'past_due';
/** Final states. */
const isOver = (status: Status | null): boolean => status === 'canceled' || status === 'incomplete_expired';

/**
 * The subscriber after an event; null where the event has no effect, because a
 * newer one was applied or because it concerns another subscription.
 *
 * Events arrive in any order. The end of an old subscription may arrive after
 * the start of a new one, whose plan must stay.
 */
export function subscriberAfter(before: Subscriber, notice: Notice, defaultTier: string): Subscriber | null {
  const { change, madeAt } = notice;
  if ((before.eventAt && madeAt < before.eventAt) || isUnrelated(before, notice)) return null;
  const seen = { ...before, customerId: notice.customerId ?? before.customerId, eventAt: madeAt };
  const startedAt = notice.startedAt ?? (isOtherSubscription(before, notice) ? null : before.startedAt);
  const counted = { ...seen, subscriptionId: notice.subscriptionId ?? before.subscriptionId, startedAt };
  switch (change.kind) {
    case 'lives':
      return { ...counted, status: change.status, tier: change.tier };
    case 'ends':
      return { ...counted, status: change.status, tier: defaultTier };
    case 'paid':
      return afterPayment(counted, change);
    case 'payment_failed':
      return isLive(before.status) ? { ...seen, status: 'past_due' } : seen;
    case 'signed_up':
      return seen;
  }
}

/** A late invoice may have the price of an earlier plan. While the subscription is live, its own events set the plan. */
function afterPayment(subscriber: Subscriber, { tier, isNamed }: { tier: string | null; isNamed: boolean }): Subscriber | null {
  if (isLive(subscriber.status)) return { ...subscriber, status: 'active', tier: isNamed && tier !== null ? tier : subscriber.tier };
  return tier === null ? null : { ...subscriber, status: 'active', tier };
}

/** Whether an event concerns a subscription that is not the current one. */
function isUnrelated(before: Subscriber, notice: Notice): boolean {
  const { change, startedAt } = notice;
  const isOlder = before.startedAt !== null && startedAt !== null && startedAt < before.startedAt;
  switch (change.kind) {
    case 'lives':
      if (isOtherSubscription(before, notice)) return isLive(before.status) && isOlder;
      // Timestamps have seconds: within the same second, the end is the later event.
      return isOver(before.status) && notice.madeAt.getTime() === before.eventAt?.getTime();
    case 'ends':
      // A subscription that was never paid has no effect.
      if (change.status === 'incomplete_expired') return notice.subscriptionId !== before.subscriptionId;
      return isOtherSubscription(before, notice) && (isLive(before.status) || isOlder);
    case 'paid':
    case 'payment_failed':
      return isOtherSubscription(before, notice) || isOver(before.status);
    case 'signed_up':
      return false;
  }
}

const isOtherSubscription = (before: Subscriber, { subscriptionId }: Notice): boolean =>
  before.subscriptionId !== null && subscriptionId !== null && subscriptionId !== before.subscriptionId;
