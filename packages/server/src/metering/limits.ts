/** What a plan refuses. */
import { ServiceError, limitedAxes, type LimitedAxis } from '@berth/contract';
import type { Tier } from '../owners/owners.ts';

export type Plan = Pick<Tier, 'name' | 'limits' | 'enforced' | 'overage_allowed'>;
export type Used = Record<LimitedAxis, number>;

/** What somebody wants to do, and how often. */
export interface Need {
  axis: 'action' | 'session' | 'captcha';
  count: number;
}

/** The first limit that is in the way. */
export interface Excess {
  axis: LimitedAxis;
  limit: number;
  used: number;
}

export const isLimited = ({ enforced, overage_allowed }: Plan): boolean => enforced && !overage_allowed;

/** What refuses a call: each axis that it draws on must have that much left. */
export function excessAt(plan: Plan, used: Used, { axis, count }: Need): Excess | null {
  if (axis === 'captcha') return excess(plan, used, { captcha_solves: count });
  return excess(plan, used, axis === 'action' ? { actions: count, ...traffic } : traffic);
}

/** What ends a session that runs: a browser that stays uses these two by itself. */
export const excessDuring = (plan: Plan, used: Used): Excess | null => excess(plan, used, traffic);

/** Whether a session of this plan can run out of it at all. */
export const endsSessions = (plan: Plan): boolean =>
  isLimited(plan) && (plan.limits.egress_bytes !== null || plan.limits.browser_seconds !== null);

const traffic = { egress_bytes: 1, browser_seconds: 1 };

function excess(plan: Plan, used: Used, asked: Partial<Used>): Excess | null {
  if (!isLimited(plan)) return null;
  for (const axis of limitedAxes) {
    const limit = plan.limits[axis];
    const count = asked[axis];
    if (limit !== null && count !== undefined && used[axis] + count > limit) return { axis, limit, used: used[axis] };
  }
  return null;
}

const words: Record<LimitedAxis, string> = {
  actions: 'actions',
  egress_bytes: 'bytes of traffic',
  browser_seconds: 'browser seconds',
  captcha_solves: 'solved captchas',
};

export const planLimitExceeded = ({ name }: Plan, { axis, limit, used }: Excess, resetsAt: Date): ServiceError =>
  new ServiceError(
    'plan_limit_exceeded',
    `The plan “${name}” allows ${limit} ${words[axis]} a month, and ${used} are used. The next month begins at ${resetsAt.toISOString()}; a larger plan has more.`,
    { details: { axis, limit, used, resets_at: resetsAt.toISOString() } },
  );
