import { limitedAxes, type LimitedAxis, type UsageDay, type UsageResponse } from '@berth/contract';
import type { EffectivePlan } from '../owners/owners.ts';
import { noCounts, toTotals, type Counts, type Totals } from './counts.ts';

interface UsageContext {
  now: Date;
  /** Sessions that this worker runs at most. */
  sessionsMax: number;
}

/** Usage of a month against the effective plan. */
export function toUsage({ tier, trialEndsAt }: EffectivePlan, totals: Totals, { now, sessionsMax }: UsageContext): UsageResponse {
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
    concurrency_limit: tier.concurrency_limit ?? sessionsMax,
    premium_egress: tier.premium_egress,
    overage_allowed: tier.overage_allowed,
    enforced: tier.enforced,
    resets_at: monthFrom(now, 1).toISOString(),
    trial_ends_at: trialEndsAt?.toISOString() ?? null,
  };
}

/** The `count` days up to `now`, with zeros for those without usage. */
export const toUsageDays = (days: ReadonlyMap<string, Counts>, now: Date, count: number): UsageDay[] =>
  Array.from({ length: count }, (_, n) => dayOf(dayFrom(now, n + 1 - count))).map((day) => ({
    day,
    ...toTotals(days.get(day) ?? noCounts()),
  }));

/** Calendar days and months in UTC. */

/** `2026-11-21`: sorts as text. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/** Some instant of the day that is `distance` days after that of `at`. */
export const dayFrom = (at: Date, distance: number): Date => new Date(at.getTime() + distance * 86_400_000);

/** `2026-11`: sorts as text. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

/** The first instant of the month that is `distance` months after that of `at`. */
export const monthFrom = (at: Date, distance: number): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + distance, 1));
