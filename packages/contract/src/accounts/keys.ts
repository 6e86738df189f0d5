import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, credentialName, expiresInDays, pageHeaders, pageQuery } from '../fields.ts';

export const OwnerId = boundedString(1, 64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:|@-]*$/)
  .meta({
    description: 'Id of the owner, 1 to 64 characters. For users who sign in, it is the organization as the identity provider names it.',
    examples: ['local', 'acme'],
  });

export const Key = z
  .object({
    key_id: z.string().describe('Id of the API key.'),
    name: z.string().nullable().describe('Name of the key; null if it has none.'),
    prefix: z.string().meta({ description: 'First characters of the key.', examples: ['brt_live_'] }),
    last4: z.string().describe('Last four characters of the key.'),
    owner: z.string().describe('Id of the owner.'),
    created_at: Timestamp.describe('When the key was created (RFC 3339, UTC).'),
    created_by: z.string().meta({
      description: 'Who created the key: `admin`, `bootstrap`, `sign_in_link`, or `login:SUBJECT`.',
      examples: ['admin', 'bootstrap'],
    }),
    last_used_at: Timestamp.nullable().describe('When the key was last used (RFC 3339, UTC), to the minute; null if never.'),
    expires_at: Timestamp.nullable().describe('When the key expires (RFC 3339, UTC); null if never.'),
    revoked_at: Timestamp.nullable().describe('When the key was revoked (RFC 3339, UTC); null if it is not revoked.'),
    status: z.enum(['active', 'revoked', 'expired']).describe('Status of the key.'),
  })
  .meta({ id: 'KeyResponse' });
export type Key = z.infer<typeof Key>;

export const CreatedKey = Key.extend({
  key: z.string().nullable().describe('The secret API key. It is returned once: null in a replayed response.'),
}).meta({ id: 'CreatedKeyResponse' });

export const CreateKeyRequest = z
  .strictObject({
    owner: OwnerId.describe('Id of the owner. The owner is created if it does not exist.'),
    name: credentialName('key'),
    tier: boundedString(1, 64)
      .optional()
      .describe('Plan to set for the owner: a tier of the tiers file. Default: the plan stays as it is.'),
    expires_in_days: expiresInDays('key'),
  })
  .meta({ id: 'CreateKeyRequest' });

export const CreateOwnKeyRequest = z
  .strictObject({
    name: credentialName('key'),
    expires_in_days: expiresInDays('key'),
  })
  .meta({ id: 'CreateOwnKeyRequest' });

export const listOwnKeys = endpoint({
  id: 'listOwnKeys',
  method: 'GET',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'List API keys',
  description: 'Returns the API keys of your organization without their secrets, newest first, 100 per page by default.',
  auth: 'login',
  query: z.strictObject(pageQuery),
  reply: z.array(Key),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const createOwnKey = endpoint({
  id: 'createOwnKey',
  method: 'POST',
  path: '/v1/keys',
  tag: 'Keys',
  summary: 'Create an API key',
  description: 'Creates an API key for your organization. The secret is returned in this response only and cannot be retrieved later.',
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
  summary: 'Revoke an API key',
  description:
    'Revokes one of your organization’s API keys. Requests with the key are refused from then on, and its open ' +
    'WebSockets are closed within a second.',
  auth: 'login',
  params: z.object({ key_id: PathId.describe('Id of the API key.') }),
  reply: z
    .object({
      key_id: z.string().describe('Id of the API key.'),
      status: z.literal('revoked').describe('Always `revoked`.'),
      revoked_at: Timestamp.describe('When the key was revoked (RFC 3339, UTC).'),
    })
    .meta({ id: 'RevokedKeyResponse' }),
  status: 200,
  errors: ['key_not_found', 'store_unavailable'],
});

export const rotateOwnKey = endpoint({
  id: 'rotateOwnKey',
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  tag: 'Keys',
  summary: 'Rotate an API key',
  description:
    'Creates a new API key with the same name to replace an existing one. The existing key remains valid for ' +
    '`grace_seconds`, so that you can replace it everywhere first; by default it is revoked at once.',
  auth: 'login',
  params: z.object({ key_id: PathId.describe('Id of the API key to replace.') }),
  body: z
    .strictObject({
      grace_seconds: z
        .int()
        .min(0)
        .max(604_800)
        .default(0)
        .describe('Seconds for which the existing key remains valid, 0 to 604800. Default: 0.'),
    })
    .meta({ id: 'RotateKeyRequest' }),
  bodyOptional: true,
  reply: CreatedKey.extend({ replaces: z.string().describe('Id of the replaced key.') }).meta({ id: 'RotatedKeyResponse' }),
  secretReplyFields: ['key'],
  status: 201,
  errors: ['key_not_found', 'key_revoked', 'key_limit_reached', 'store_unavailable'],
});

export const listKeys = endpoint({
  id: 'listKeys',
  method: 'GET',
  path: '/admin/keys',
  tag: 'Keys',
  summary: 'List all API keys',
  description:
    'Returns the API keys of all owners, or of one owner, without their secrets, newest first, 100 per page by default. A key ' +
    'that was found in a wrong place is identified by its last four characters.',
  auth: 'admin',
  query: z.strictObject({
    owner: OwnerId.optional().describe('Only keys of this owner.'),
    last4: boundedString(4, 4).optional().describe('Only keys that end in these four characters.'),
    ...pageQuery,
  }),
  reply: z.array(Key),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const createKey = endpoint({
  id: 'createKey',
  method: 'POST',
  path: '/admin/keys',
  tag: 'Keys',
  summary: 'Create an API key for an owner',
  description:
    'Creates an API key for any owner, and can set the owner’s plan. The secret is returned in this response only ' +
    'and cannot be retrieved later.',
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
  summary: 'Revoke any API key',
  description:
    'Revokes an API key of any owner. Requests with the key are refused from then on, and its open WebSockets are ' +
    'closed within a second.',
  auth: 'admin',
  params: z.object({ key_id: PathId.describe('Id of the API key.') }),
  status: 204,
  replyKind: 'empty',
  errors: ['key_not_found', 'store_unavailable'],
});
