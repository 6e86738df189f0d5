/** Who did what to keys, credits, plans and sessions. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { Timestamp, pageHeaders, pageQuery, queryInt } from './fields.ts';
import { OwnerId } from './keys.ts';

export const auditActions = [
  'key.created',
  'key.rotated',
  'key.revoked',
  'credits.granted',
  'credits.redeemed',
  'credit_codes.made',
  'promo_codes.made',
  'promo.redeemed',
  'tier.changed',
  'billing.payment_failed',
  'session.created',
  'session.ended',
  'pool.resized',
] as const;
export type AuditAction = (typeof auditActions)[number];

export const AuditEntry = z
  .object({
    entry_id: z.int(),
    at: Timestamp,
    actor: z
      .string()
      .meta({ description: '`operator`, `key:KEY_ID`, `login:SUBJECT`, `payment_provider`, or `service`.', examples: ['operator'] }),
    action: z.enum(auditActions),
    owner: z.string().nullable().meta({ description: 'Whose thing it was done to.' }),
    subject: z.string().nullable().meta({ description: 'The id of that thing.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntryResponse = z.infer<typeof AuditEntry>;

export const listAudit = endpoint({
  id: 'listAudit',
  method: 'GET',
  path: '/admin/audit',
  tag: 'Operators',
  summary: 'Who did what, newest first',
  description: 'Entries are only ever added. They hold no secrets, and are kept for at least a year.',
  auth: 'admin',
  query: z.strictObject({
    ...pageQuery,
    owner: OwnerId.optional(),
    actor: z.string().min(1).max(300).optional(),
    action: z.enum(auditActions).optional(),
    since: queryInt(0, 253_402_300_799).optional().meta({ description: 'Epoch seconds.' }),
  }),
  reply: z.array(AuditEntry),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});
