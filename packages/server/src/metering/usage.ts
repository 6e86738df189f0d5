import { limitedAxes, type LimitedAxis, type UsageResponse } from '@berth/contract';
import type { EffectivePlan } from '../owners/owners.ts';
import type { Totals } from './counts.ts';
import { monthFrom, monthOf } from './month.ts';

/** Usage of a month against the effective plan. */
export function toUsage({ tier, trialEndsAt }: EffectivePlan, totals: Totals, now: Date): UsageResponse {
  const remaining = {} as Record<LimitedAxis, number | null>;
  for (const axis of limitedAxes) {
    const limit = tier.limits[axis];
    remaining[axis] = limit === null ? null : Math.max(0, limit - totals[axis]);
  }
  return {
    tier: tier.name,
    month: monthOf(now),
    usage: totals,
    limits: tier.limits,
    remaining,
    concurrency_limit: tier.concurrency_limit,
    premium_egress: tier.premium_egress,
    overage_allowed: tier.overage_allowed,
    enforced: tier.enforced,
    resets_at: monthFrom(now, 1).toISOString(),
    trial_ends_at: trialEndsAt?.toISOString() ?? null,
  };
}
