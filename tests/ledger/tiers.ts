/** The plans that the service under test knows. */
import type { Part } from './schedule.ts';

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

/** The plan that each begins with; that of `trial` is the one it tries. */
export const tierOf: Record<Part, string> = { paid: 'prepaid', rival: 'prepaid', owing: 'postpaid', buyer: defaultTier, trial: 'team' };
