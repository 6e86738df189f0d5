/** The monthly limits of plans. */
import { ServiceError, limitedAxes, type LimitedAxis } from '@berth/contract';
import type { Tier } from '../owners/owners.ts';

type Plan = Pick<Tier, 'name' | 'limits' | 'enforced' | 'overage_allowed'>;
export type Used = Record<LimitedAxis, number>;

/** The requested usage. */
export interface Need {
  axis: 'action' | 'session' | 'captcha';
  count: number;
}

/** The first exceeded limit. */
interface Excess {
  axis: LimitedAxis;
  limit: number;
  used: number;
  /** What the call needs of the axis. */
  required: number;
}

export const isLimited = ({ enforced, overage_allowed }: Plan): boolean => enforced && !overage_allowed;

/** The limit that refuses a call: each axis it uses must have enough left. */
export function excessAt(plan: Plan, used: Used, { axis, count }: Need): Excess | null {
  if (axis === 'captcha') return excess(plan, used, { captcha_solves: count });
  return excess(plan, used, axis === 'action' ? { actions: count, ...traffic } : traffic);
}

/** The limit that ends a running session: an open browser uses traffic and time without calls. */
export const excessDuring = (plan: Plan, used: Used): Excess | null => excess(plan, used, traffic);

/** Whether the limits of this plan can end a session. */
export const endsSessions = (plan: Plan): boolean =>
  isLimited(plan) && (plan.limits.egress_bytes !== null || plan.limits.browser_seconds !== null);

/** Part of a limit: with less than it left, the limit may be reached at any moment. */
const nearPart = 1 / 16;
/** Use that is this part of what is left. With it unknown to the others, dozens of workers still keep the limit together. */
const noticeablePart = 1 / 256;

/**
 * Whether the other workers of a fleet should know at once what this one has not
 * written yet. Far from a limit it can wait, which keeps idle sessions cheap; a
 * limit that was reached before has nothing to protect.
 */
export function isPressing(plan: Plan, used: Used, unwritten: Used): boolean {
  if (!isLimited(plan)) return false;
  return limitedAxes.some((axis) => {
    const limit = plan.limits[axis];
    if (limit === null) return false;
    const left = limit - (used[axis] - unwritten[axis]);
    return left > 0 && (left <= limit * nearPart || unwritten[axis] >= left * noticeablePart);
  });
}

const traffic = { egress_bytes: 1, browser_seconds: 1 };

function excess(plan: Plan, used: Used, demand: Partial<Used>): Excess | null {
  if (!isLimited(plan)) return null;
  for (const axis of limitedAxes) {
    const limit = plan.limits[axis];
    const count = demand[axis];
    if (limit !== null && count !== undefined && used[axis] + count > limit) return { axis, limit, used: used[axis], required: count };
  }
  return null;
}

const axisLabels: Record<LimitedAxis, string> = {
  actions: 'actions',
  egress_bytes: 'bytes of traffic',
  browser_seconds: 'browser seconds',
  captcha_solves: 'solved captchas',
};

export const planLimitExceeded = ({ name }: Plan, { axis, limit, used, required }: Excess, resetsAt: Date): ServiceError =>
  new ServiceError(
    'plan_limit_exceeded',
    `The plan “${name}” allows ${limit} ${axisLabels[axis]} per month, ${used} are used, and this call needs ${required} more. ` +
      `The limit resets at ${resetsAt.toISOString()}. Upgrade the plan for more.`,
    { details: { axis, limit, used, required, resets_at: resetsAt.toISOString() } },
  );
