/** An owner as operators read it. */
import { z } from 'zod';
import { Credits } from './credits.ts';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';
import { Usage } from './usage.ts';

export const Owner = z
  .object({
    owner: z.string().describe('Id of the owner.'),
    created_at: Timestamp.describe('When the owner was created (RFC 3339, UTC).'),
    plan: z
      .object({
        tier: z.string().describe('Plan of the owner.'),
        trial_tier: z.string().nullable().describe('Plan of the last trial; null if there was none.'),
        trial_ends_at: Timestamp.nullable().describe(
          'When the last trial ends or ended (RFC 3339, UTC); null if there was none. Until then its plan applies.',
        ),
      })
      .describe('Plan and trial. `usage.tier` is the plan in effect.'),
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
  params: z.object({ owner: PathId.describe('Id of the owner.') }),
  reply: Owner,
  status: 200,
  errors: ['owner_not_found', 'store_unavailable'],
});
