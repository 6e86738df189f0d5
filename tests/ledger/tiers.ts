/** The plans of the service under test. */
import type { OwnerRole } from './schedule.ts';

const unlimited = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 86_400,
  tab_limit: null,
  premium_egress: false,
};

export const defaultTier = 'basic';
export const tiersFile = {
  default_tier: defaultTier,
  tiers: {
    [defaultTier]: unlimited,
    prepaid: unlimited,
    postpaid: { ...unlimited, overage_allowed: true },
    pro: unlimited,
    team: unlimited,
  },
};

/** The initial plan of each owner. For `trial` it is the plan under trial. */
export const tierOf: Record<OwnerRole, string> = {
  paid: 'prepaid',
  rival: 'prepaid',
  owing: 'postpaid',
  buyer: defaultTier,
  trial: 'team',
};
