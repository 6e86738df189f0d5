/** Links that sign a person in to the dashboard, once. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp } from '../fields.ts';
import { CreatedKey, OwnerId } from './keys.ts';

export const SignInLink = z
  .object({
    owner: z.string().describe('Id of the owner that the link signs in as.'),
    url: z
      .string()
      .nullable()
      .meta({
        description:
          'The link, with its secret in the fragment, which browsers send to nobody. It is returned once: null in a replayed response.',
        examples: ['https://berth.example/dashboard/sign-in#link=brt_link_…'],
      }),
    expires_at: Timestamp.describe('When the link expires (RFC 3339, UTC), used or not.'),
  })
  .meta({ id: 'SignInLinkResponse' });
export type SignInLink = z.infer<typeof SignInLink>;

export const createSignInLink = endpoint({
  id: 'createSignInLink',
  method: 'POST',
  path: '/admin/sign-in-links',
  tag: 'Operators',
  summary: 'Create a sign-in link',
  description:
    'Creates a link that opens the dashboard signed in as an owner, for the operator, or for a person without a key at hand. It ' +
    'works once. Of more than 20 unused links of an owner the oldest are withdrawn.',
  auth: 'admin',
  body: z
    .strictObject({
      owner: OwnerId.default('local').describe('Id of the owner to sign in as. Default: `local`.'),
      ttl_seconds: z.int().min(60).max(3600).default(600).describe('Seconds for which the link works, 60 to 3600. Default: 600.'),
    })
    .meta({ id: 'CreateSignInLinkRequest' }),
  bodyOptional: true,
  reply: SignInLink,
  secretReplyFields: ['url'],
  status: 201,
  errors: ['owner_not_found', 'store_unavailable'],
});

export const redeemSignInLink = endpoint({
  id: 'redeemSignInLink',
  method: 'POST',
  path: '/dashboard/sign-in-link',
  tag: 'Viewing',
  summary: 'Redeem a sign-in link',
  description:
    'Exchanges the secret of a sign-in link for an API key of its owner that expires after a day. The dashboard calls it. A link ' +
    'works once; of two calls at the same time one is refused. Of more than 20 such keys of an owner the oldest are revoked.',
  auth: 'none',
  body: z
    .strictObject({
      token: boundedString(1, 200).describe('Secret of the link: what follows `#link=` in its address.'),
    })
    .meta({ id: 'RedeemSignInLinkRequest' }),
  reply: CreatedKey,
  secretReplyFields: ['key'],
  status: 201,
  errors: ['invalid_sign_in_link', 'store_unavailable'],
});

export const endLinkSignIn = endpoint({
  id: 'endLinkSignIn',
  method: 'DELETE',
  path: '/dashboard/sign-in-link',
  tag: 'Viewing',
  summary: 'Revoke the key of a sign-in link',
  description:
    'Revokes the API key that the call is made with, which came of a sign-in link. The dashboard calls it when a person signs ' +
    'out. A key that was created otherwise stays valid, and is answered 404.',
  auth: 'bearer',
  status: 204,
  replyKind: 'empty',
  errors: ['key_not_found', 'store_unavailable'],
});
