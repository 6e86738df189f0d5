/** The audit log of keys, credits, plans, sessions and profiles. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp, pageHeaders, pageQuery, queryInt } from '../fields.ts';
import { OwnerId } from './keys.ts';

export const auditActions = [
  'key.created',
  'key.rotated',
  'key.revoked',
  'sign_in_link.created',
  'connect_token.created',
  'connect_token.revoked',
  'credits.granted',
  'credits.corrected',
  'credits.redeemed',
  'credit_codes.made',
  'promo_codes.made',
  'promo.redeemed',
  'tier.changed',
  'billing.payment_failed',
  'session.created',
  'session.ended',
  'tunnel.opened',
  'profile.created',
  'profile.deleted',
  'pool.resized',
  'worker.cordoned',
  'worker.uncordoned',
  'worker.drained',
  'owner.pinned',
  'owner.unpinned',
] as const;
export type AuditAction = (typeof auditActions)[number];

export const AuditEntry = z
  .object({
    entry_id: z.int().describe('Sequence number of the entry.'),
    at: Timestamp.describe('When it happened (RFC 3339, UTC).'),
    actor: z.string().meta({
      description: 'Who did it: `operator`, `key:KEY_ID`, `connect_token:TOKEN_ID`, `login:SUBJECT`, `payment_provider`, or `service`.',
      examples: ['operator'],
    }),
    action: z.enum(auditActions).describe('What was done.'),
    owner: z.string().nullable().describe('Id of the owner that was affected; null if none was.'),
    subject: z.string().nullable().describe('Id of the object that was affected, such as a key or session; null if there is none.'),
    details: z.record(z.string(), z.unknown()).describe('Further data; its fields depend on the action.'),
  })
  .meta({ id: 'AuditEntryResponse' });
export type AuditEntryResponse = z.infer<typeof AuditEntry>;

export const listAudit = endpoint({
  id: 'listAudit',
  method: 'GET',
  path: '/admin/audit',
  tag: 'Operators',
  summary: 'List audit entries',
  description:
    'Returns the audit log of keys, credits, plans and sessions, newest first. Entries cannot be changed, contain ' +
    'no secrets, and are retained for at least a year.',
  auth: 'admin',
  query: z.strictObject({
    ...pageQuery,
    owner: OwnerId.optional().describe('Only entries that affect this owner.'),
    actor: boundedString(1, 300).optional().describe('Only entries by this actor, such as `operator` or `key:KEY_ID`.'),
    subject: boundedString(1, 300).optional().describe('Only entries about this object, such as `KEY_ID` or `SESSION_ID`.'),
    action: z.enum(auditActions).optional().describe('Only entries with this action.'),
    since: queryInt(0, 253_402_300_799).optional().describe('Only entries from this time on, in Unix seconds.'),
  }),
  reply: z.array(AuditEntry),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});
