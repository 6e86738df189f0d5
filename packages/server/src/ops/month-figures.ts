import type { SubscriptionRecord } from '../accounts/billing/billing.ts';
import type { CreditFlow } from '../accounts/credits/credits.ts';
import type { UsageByEgress } from '../accounts/metering/metering.ts';

/** What the economics of a month are computed from. */
export interface MonthFigures {
  month: string;
  from: Date;
  to: Date;
  now: Date;
  usage: readonly UsageByEgress[];
  flows: readonly CreditFlow[];
  subscriptions: readonly SubscriptionRecord[];
  /** The effective plans of all owners above, by owner. */
  tiers: ReadonlyMap<string, string>;
}
