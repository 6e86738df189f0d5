/** The endpoints of the development issuer. Not part of the contract: for local development only. */
import { endpoint } from '@berth/contract';
import { z } from 'zod';
import { devIdpPath } from './dev-issuer.ts';

const common = { tag: 'Keys', auth: 'none', status: 200, errors: ['origin_not_allowed'] } as const;
const page = { ...common, replyKind: 'html', reply: z.string(), alsoStatus: [303, 400, 422] } as const;
const form = { rawBody: 'form', bodyLimitBytes: 16 * 1024 } as const;
const reply = z.record(z.string(), z.unknown());

export const openDevSignIn = endpoint({
  ...page,
  id: 'openDevSignIn',
  method: 'GET',
  path: devIdpPath,
  summary: 'Open the sign-in page',
  // People open it by links, to which other programs add parameters.
  query: z.looseObject({}),
});

export const devSignIn = endpoint({
  ...page,
  ...form,
  id: 'devSignIn',
  method: 'POST',
  path: `${devIdpPath}/sign-in`,
  summary: 'Sign in',
});

export const openDevAuthorize = endpoint({
  ...page,
  id: 'openDevAuthorize',
  method: 'GET',
  path: `${devIdpPath}/authorize`,
  summary: 'Open the sign-in page of the authorization code flow',
  // Unknown parameters are ignored (RFC 6749, section 3.1).
  query: z.looseObject({}),
});

export const devAuthorize = endpoint({
  ...page,
  ...form,
  id: 'devAuthorize',
  method: 'POST',
  path: `${devIdpPath}/authorize`,
  summary: 'Sign in and redirect with an authorization code',
});

export const devToken = endpoint({
  ...common,
  ...form,
  id: 'devToken',
  method: 'POST',
  path: `${devIdpPath}/token`,
  summary: 'Exchange an authorization code for a login token',
  reply,
  secretReplyFields: ['access_token'],
  alsoStatus: [400],
});

export const devDiscovery = endpoint({
  ...common,
  id: 'devDiscovery',
  method: 'GET',
  path: `${devIdpPath}/.well-known/openid-configuration`,
  summary: 'Get the discovery document',
  reply,
});

export const devKeys = endpoint({
  ...common,
  id: 'devKeys',
  method: 'GET',
  path: `${devIdpPath}/jwks`,
  summary: 'Get the signing keys',
  reply,
});

export const devStyle = endpoint({
  ...common,
  id: 'devStyle',
  method: 'GET',
  path: `${devIdpPath}/pages.css`,
  summary: 'Get the style sheet',
  replyKind: 'text',
  reply: z.string(),
});
