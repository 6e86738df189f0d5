/** An owner at the payment provider, and what news of it change. */
import type { Notice, Status } from './notice.ts';

export interface Subscriber {
  tier: string;
  customerId: string | null;
  /** The subscription that counts, or the last one that did. */
  subscriptionId: string | null;
  status: Status | null;
  /** When that subscription began. */
  startedAt: Date | null;
  /** When the newest event was made that has been applied. */
  eventAt: Date | null;
}

/** `past_due`: a payment failed, and the provider tries again. The plan stays until it gives up. */
export const isLive = (status: Status | null): boolean => status === 'active' || status === 'trialing' || status === 'past_due';
/** It never comes back. */
const isOver = (status: Status | null): boolean => status === 'canceled' || status === 'incomplete_expired';

/**
 * The subscriber after an event; null where the event changes nothing: because
 * a newer one has been applied, or because it is about another subscription
 * than the one that counts.
 *
 * Events come in any order. Who changes to a new subscription hears of the
 * old one's end afterwards, and must keep the new one's plan.
 */
export function subscriberAfter(before: Subscriber, notice: Notice, defaultTier: string): Subscriber | null {
  const { news, madeAt } = notice;
  if ((before.eventAt && madeAt < before.eventAt) || isBeside(before, notice)) return null;
  const seen = { ...before, customerId: notice.customerId ?? before.customerId, eventAt: madeAt };
  const startedAt = notice.startedAt ?? (isAnother(before, notice) ? null : before.startedAt);
  const counted = { ...seen, subscriptionId: notice.subscriptionId ?? before.subscriptionId, startedAt };
  switch (news.kind) {
    case 'lives':
      return { ...counted, status: news.status, tier: news.tier };
    case 'ends':
      return { ...counted, status: news.status, tier: defaultTier };
    case 'paid':
      return afterPayment(counted, news);
    case 'payment_failed':
      return isLive(before.status) ? { ...seen, status: 'past_due' } : seen;
    case 'signed_up':
      return seen;
  }
}

/** What lines are priced at may be an earlier plan of the same subscription, paid late: while it lives, its own events tell the plan. */
function afterPayment(subscriber: Subscriber, { tier, isNamed }: { tier: string | null; isNamed: boolean }): Subscriber | null {
  if (isLive(subscriber.status)) return { ...subscriber, status: 'active', tier: isNamed && tier !== null ? tier : subscriber.tier };
  return tier === null ? null : { ...subscriber, status: 'active', tier };
}

/** Whether an event is about a subscription that does not count. */
function isBeside(before: Subscriber, notice: Notice): boolean {
  const { news, startedAt } = notice;
  const isOlder = before.startedAt !== null && startedAt !== null && startedAt < before.startedAt;
  switch (news.kind) {
    case 'lives':
      if (isAnother(before, notice)) return isLive(before.status) && isOlder;
      // Made in the same second as the end: the end came after it.
      return isOver(before.status) && notice.madeAt.getTime() === before.eventAt?.getTime();
    case 'ends':
      // What was never paid for has given nothing that could be taken.
      if (news.status === 'incomplete_expired') return notice.subscriptionId !== before.subscriptionId;
      return isAnother(before, notice) && (isLive(before.status) || isOlder);
    case 'paid':
    case 'payment_failed':
      return isAnother(before, notice) || isOver(before.status);
    case 'signed_up':
      return false;
  }
}

const isAnother = (before: Subscriber, { subscriptionId }: Notice): boolean =>
  before.subscriptionId !== null && subscriptionId !== null && subscriptionId !== before.subscriptionId;
