/** The endpoints of the development issuer. They are no part of the contract: nobody may rely on them but people on their own machine. */
import { endpoint } from '@berth/contract';
import { z } from 'zod';
import { devIdpPath } from './dev-issuer.ts';

const common = { tag: 'Keys', auth: 'none', status: 200, errors: ['origin_not_allowed'] } as const;
const page = { ...common, replyKind: 'html', reply: z.string(), alsoStatus: [303, 400, 422] } as const;
const form = { rawBody: 'form', bodyLimitBytes: 16 * 1024 } as const;
const reply = z.record(z.string(), z.unknown());

export const openDevSignIn = endpoint({ ...page, id: 'openDevSignIn', method: 'GET', path: devIdpPath, summary: 'Who are you?' });

export const devSignIn = endpoint({
  ...page,
  ...form,
  id: 'devSignIn',
  method: 'POST',
  path: `${devIdpPath}/sign-in`,
  summary: 'A page with a login token',
});

export const openDevAuthorize = endpoint({
  ...page,
  id: 'openDevAuthorize',
  method: 'GET',
  path: `${devIdpPath}/authorize`,
  summary: 'Who are you? For a program that asks, by the authorization code flow',
});

export const devAuthorize = endpoint({
  ...page,
  ...form,
  id: 'devAuthorize',
  method: 'POST',
  path: `${devIdpPath}/authorize`,
  summary: 'Back to the program that asked, with a code',
});

export const devToken = endpoint({
  ...common,
  ...form,
  id: 'devToken',
  method: 'POST',
  path: `${devIdpPath}/token`,
  summary: 'A login token for a code',
  reply,
  secretReplyFields: ['access_token'],
  alsoStatus: [400],
});

export const devDiscovery = endpoint({
  ...common,
  id: 'devDiscovery',
  method: 'GET',
  path: `${devIdpPath}/.well-known/openid-configuration`,
  summary: 'Where what is',
  reply,
});

export const devKeys = endpoint({
  ...common,
  id: 'devKeys',
  method: 'GET',
  path: `${devIdpPath}/jwks`,
  summary: 'The key that login tokens are signed with',
  reply,
});

export const devStyle = endpoint({
  ...common,
  id: 'devStyle',
  method: 'GET',
  path: `${devIdpPath}/pages.css`,
  summary: 'How the pages look',
  replyKind: 'text',
  reply: z.string(),
});
