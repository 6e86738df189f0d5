import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';

export const OwnerId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_.-]*$/)
  .meta({ examples: ['local', 'acme'] });

export const Key = z
  .object({
    key_id: z.string(),
    name: z.string().nullable(),
    prefix: z.string().meta({ examples: ['brt_live_'] }),
    last4: z.string(),
    owner: z.string(),
    created_at: Timestamp,
    created_by: z.string().meta({ examples: ['admin', 'bootstrap'] }),
    last_used_at: Timestamp.nullable().meta({ description: 'Kept to the minute.' }),
    expires_at: Timestamp.nullable(),
    revoked_at: Timestamp.nullable(),
    status: z.enum(['active', 'revoked', 'expired']),
  })
  .meta({ id: 'Key' });
export type Key = z.infer<typeof Key>;

export const CreatedKey = Key.extend({
  key: z.string().nullable().meta({ description: 'The raw key, in this reply only; null when the reply is replayed.' }),
}).meta({ id: 'CreatedKey' });

export const CreateKeyRequest = z
  .strictObject({
    owner: OwnerId.meta({ description: 'Made with the key when there is no such owner yet.' }),
    name: z.string().min(1).max(64).nullable().default(null),
    tier: z.string().min(1).max(64).optional().meta({ description: 'The owner’s plan from now on; one of the tiers file. Left as it is when absent.' }),
    expires_in_days: z.int().min(1).max(3650).nullable().default(null),
  })
  .meta({ id: 'CreateKeyRequest' });

export const listKeys = endpoint({
  id: 'listKeys',
  method: 'GET',
  path: '/admin/keys',
  tag: 'Keys',
  summary: 'All keys, without secrets',
  auth: 'admin',
  query: z.strictObject({ owner: OwnerId.optional() }),
  reply: z.array(Key),
  status: 200,
  errors: ['store_unavailable'],
});

export const createKey = endpoint({
  id: 'createKey',
  method: 'POST',
  path: '/admin/keys',
  tag: 'Keys',
  summary: 'Mint a key for an owner',
  auth: 'admin',
  body: CreateKeyRequest,
  reply: CreatedKey,
  secretReplyFields: ['key'],
  status: 201,
  errors: ['store_unavailable'],
});

export const revokeKey = endpoint({
  id: 'revokeKey',
  method: 'DELETE',
  path: '/admin/keys/{key_id}',
  tag: 'Keys',
  summary: 'Revoke a key: refused from the next request on, open sockets closed within a second',
  auth: 'admin',
  params: z.object({ key_id: PathId }),
  status: 204,
  replyKind: 'empty',
  errors: ['key_not_found', 'store_unavailable'],
});
