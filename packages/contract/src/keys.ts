import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';

export const OwnerId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:|@-]*$/)
  .meta({ description: 'For whoever signs in: the organisation as the identity provider names it.', examples: ['local', 'acme'] });

export const Key = z
  .object({
    key_id: z.string(),
    name: z.string().nullable(),
    prefix: z.string().meta({ examples: ['brt_live_'] }),
    last4: z.string(),
    owner: z.string(),
    created_at: Timestamp,
    created_by: z.string().meta({ description: '`admin`, `bootstrap`, or `login:SUBJECT`.', examples: ['admin', 'bootstrap'] }),
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
    tier: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: 'The owner’s plan from now on; one of the tiers file. Left as it is when absent.' }),
    expires_in_days: z.int().min(1).max(3650).nullable().default(null),
  })
  .meta({ id: 'CreateKeyRequest' });

const keyName = z.string().min(1).max(64).nullable().default(null);

export const CreateOwnKeyRequest = z
  .strictObject({ name: keyName, expires_in_days: z.int().min(1).max(3650).nullable().default(null) })
  .meta({ id: 'CreateOwnKeyRequest' });

export const listOwnKeys = endpoint({
  id: 'listOwnKeys',
  method: 'GET',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'Your organisation’s keys, newest first, without secrets',
  auth: 'login',
  reply: z.array(Key),
  status: 200,
  errors: ['store_unavailable'],
});

export const createOwnKey = endpoint({
  id: 'createOwnKey',
  method: 'POST',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'Mint a key for your organisation; the raw key is in this reply only',
  auth: 'login',
  body: CreateOwnKeyRequest,
  bodyOptional: true,
  reply: CreatedKey,
  secretReplyFields: ['key'],
  status: 200,
  errors: ['key_limit_reached', 'store_unavailable'],
});

export const revokeOwnKey = endpoint({
  id: 'revokeOwnKey',
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
  tag: 'Keys',
  summary: 'Revoke one of your keys: refused from the next request on, open sockets closed within a second',
  auth: 'login',
  params: z.object({ key_id: PathId }),
  reply: z.object({ key_id: z.string(), status: z.literal('revoked'), revoked_at: Timestamp }).meta({ id: 'RevokedKey' }),
  status: 200,
  errors: ['key_not_found', 'store_unavailable'],
});

export const rotateOwnKey = endpoint({
  id: 'rotateOwnKey',
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  tag: 'Keys',
  summary: 'Replace a key by a new one of the same name',
  description:
    'The old key is good for the grace that is asked for, so that it can be exchanged everywhere first; without one it is revoked at once.',
  auth: 'login',
  params: z.object({ key_id: PathId }),
  body: z.strictObject({ grace_seconds: z.int().min(0).max(604_800).default(0) }).meta({ id: 'RotateKeyRequest' }),
  bodyOptional: true,
  reply: CreatedKey.extend({ replaces: z.string().meta({ description: 'The id of the old key.' }) }).meta({ id: 'RotatedKey' }),
  secretReplyFields: ['key'],
  status: 200,
  errors: ['key_not_found', 'key_revoked', 'key_limit_reached', 'store_unavailable'],
});

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
