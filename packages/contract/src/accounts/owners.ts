/** Owners and plans as operators read and change them. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { Credits } from './credits.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, pageHeaders, pageQuery } from '../fields.ts';
import { Limits, Usage } from './usage.ts';

const ownerParams = z.object({ owner: PathId.describe('Id of the owner.') });

const ownPlan = z.object({
  tier: z.string().describe('Plan of the owner.'),
  trial_tier: z.string().nullable().describe('Plan of the last trial; null if there was none.'),
  trial_ends_at: Timestamp.nullable().describe(
    'When the last trial ends or ended (RFC 3339, UTC); null if there was none. Until then its plan applies.',
  ),
});

const pinnedWorker = z
  .string()
  .nullable()
  .describe('Worker to which the owner is pinned: the only one that takes its new sessions, fetches and jobs; null: any.');

export const Owner = z
  .object({
    owner: z.string().describe('Id of the owner.'),
    created_at: Timestamp.describe('When the owner was created (RFC 3339, UTC).'),
    plan: ownPlan.describe('Plan and trial. `usage.tier` is the plan in effect.'),
    pinned_worker_id: pinnedWorker,
    usage: Usage.describe('Usage in this month, and the limits in effect.'),
    credits: Credits.describe('Balance and prices.'),
  })
  .meta({ id: 'OwnerResponse' });
export type OwnerResponse = z.infer<typeof Owner>;

export const getOwner = endpoint({
  id: 'getOwner',
  method: 'GET',
  path: '/admin/owners/{owner}',
  tag: 'Operators',
  summary: 'Get an owner',
  description: 'Returns the plan of an owner, its usage in the current calendar month (UTC) and its credit balance.',
  auth: 'admin',
  params: ownerParams,
  reply: Owner,
  status: 200,
  errors: ['owner_not_found', 'store_unavailable'],
});

export const OwnerItem = z
  .object({
    owner: z.string().describe('Id of the owner.'),
    created_at: Timestamp.describe('When the owner was created (RFC 3339, UTC).'),
    tier: z.string().describe('Plan in effect: that of a trial while one is active.'),
    plan: ownPlan.describe('Plan and trial.'),
    pinned_worker_id: pinnedWorker,
    balance: z.number().describe('Remaining credits, as the owner reads them.'),
  })
  .meta({ id: 'OwnerItemResponse' });
export type OwnerItemResponse = z.infer<typeof OwnerItem>;

const tierName = boundedString(1, 64);
const workerId = boundedString(1, 64);

export const listOwners = endpoint({
  id: 'listOwners',
  method: 'GET',
  path: '/admin/owners',
  tag: 'Operators',
  summary: 'List owners',
  description: 'Returns all owners with their plan and balance, sorted by id, 100 per page by default.',
  auth: 'admin',
  query: z.strictObject({
    search: boundedString(1, 64).optional().describe('Only owners whose id contains this text. Upper and lower case are the same.'),
    tier: tierName.optional().describe('Only owners of this plan, trials aside.'),
    pinned_worker_id: workerId.optional().describe('Only owners that are pinned to this worker.'),
    ...pageQuery,
  }),
  reply: z.array(OwnerItem),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const updateOwner = endpoint({
  id: 'updateOwner',
  method: 'PATCH',
  path: '/admin/owners/{owner}',
  tag: 'Operators',
  summary: 'Update an owner',
  description:
    'Sets the plan of an owner, ends a running trial, and returns the owner. The plan applies from the next request on. ' +
    'Later events of the payment provider can change it again.',
  auth: 'admin',
  params: ownerParams,
  body: z.strictObject({ tier: tierName.describe('Plan to set: a tier of the tiers file.') }).meta({ id: 'UpdateOwnerRequest' }),
  reply: Owner,
  status: 200,
  errors: ['owner_not_found', 'store_unavailable'],
});

export const pinOwner = endpoint({
  id: 'pinOwner',
  method: 'POST',
  path: '/admin/owners/{owner}/pin',
  tag: 'Operators',
  summary: 'Pin an owner to a worker',
  description:
    'Places new sessions, fetches and jobs of the owner on this worker only, whatever their region, from within a second on; what the owner ' +
    'runs elsewhere goes on there. No other worker takes their place: they are refused with `no_capacity` while the worker is full or does ' +
    'not run, and with `draining` while it is cordoned or drains. Jobs of the owner do not move to other workers. Lasts until the owner is ' +
    'unpinned or pinned to another worker.',
  auth: 'admin',
  params: ownerParams,
  body: z.strictObject({ worker_id: workerId.describe('Id of the worker.') }).meta({ id: 'PinOwnerRequest' }),
  reply: Owner,
  status: 200,
  errors: ['owner_not_found', 'worker_not_found', 'store_unavailable'],
});

export const unpinOwner = endpoint({
  id: 'unpinOwner',
  method: 'POST',
  path: '/admin/owners/{owner}/unpin',
  tag: 'Operators',
  summary: 'Unpin an owner',
  description: 'Lets new work of the owner run on any worker again. Does nothing for an owner that is not pinned.',
  auth: 'admin',
  params: ownerParams,
  reply: Owner,
  status: 200,
  errors: ['owner_not_found', 'store_unavailable'],
});

const perMinute = (what: string) => z.int().nullable().describe(`${what} per minute; null: unlimited.`);

export const Plan = z
  .object({
    tier: z.string().describe('Name of the plan.'),
    default: z.boolean().describe('Whether owners without a plan of their own have it.'),
    concurrency_limit: z.int().nullable().describe('Maximum number of live sessions; null: that of a worker.'),
    creates_per_minute: perMinute('Sessions created'),
    requests_per_minute: perMinute('Requests'),
    max_session_seconds: z.int().describe('Maximum lifetime of a session in seconds.'),
    tab_limit: z.int().nullable().describe('Maximum number of tabs in a session; null: that of the service.'),
    premium_egress: z.boolean().describe('Whether managed and rotating proxies may be used.'),
    recording_retention_days: z.int().describe('Days for which an ended recording is stored.'),
    job_weight: z.int().describe('Slots for waiting jobs that an owner gets for each one of an owner with the weight 1.'),
    limits: Limits,
    overage_allowed: z.boolean().describe('Whether usage beyond the limits is allowed.'),
    enforced: z.boolean().describe('Whether the limits are enforced.'),
    owners: z.int().describe('Number of owners of the plan, trials aside.'),
  })
  .meta({ id: 'PlanResponse' });
export type PlanResponse = z.infer<typeof Plan>;

export const listPlans = endpoint({
  id: 'listPlans',
  method: 'GET',
  path: '/admin/plans',
  tag: 'Operators',
  summary: 'List plans',
  description: 'Returns the plans of the tiers file, or the built-in ones, with their limits and the number of their owners.',
  auth: 'admin',
  reply: z.array(Plan),
  status: 200,
  errors: ['store_unavailable'],
});
