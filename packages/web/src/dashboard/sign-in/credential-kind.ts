import type { CredentialKind } from './credentials.ts';

/** What a pasted secret is. `connect`: a connect token, with which nobody signs in. */
export type SecretKind = CredentialKind | 'connect';

const prefixes: readonly (readonly [prefix: string, kind: SecretKind])[] = [
  ['brt_live_', 'key'],
  ['brt_admin_', 'admin'],
  ['brt_connect_', 'connect'],
];

/** A JSON Web Token: three parts of base64url. */
const token = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Knows a secret by its beginning or form. What has neither can only be an admin key that the operator chose: the service makes none like it. */
export function kindOfSecret(text: string): SecretKind {
  const known = prefixes.find(([prefix]) => text.startsWith(prefix));
  return known?.[1] ?? (token.test(text) ? 'login' : 'admin');
}
