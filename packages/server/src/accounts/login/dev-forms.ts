/** Parses and validates the forms of the development issuer. */
import { OwnerId } from '@berth/contract';
import { z } from 'zod';
import type { CodeExchange, Person } from './dev-issuer.ts';
import { isLoopbackUrl } from './loopback.ts';

/** Fields as typed, so that the form can be shown again with its values. */
export interface SignInFields {
  email: string;
  organisation: string;
}

export type FieldErrors = Partial<Record<keyof SignInFields, string>>;

const Email = z.email().max(254);

/** The person, or what to correct. */
export function parsePerson({ email, organisation }: SignInFields): { person: Person } | { errors: FieldErrors } {
  const errors: FieldErrors = {};
  if (!Email.safeParse(email).success) errors.email = 'Enter an e-mail address, such as ada@example.com.';
  if (!OwnerId.safeParse(organisation).success)
    errors.organisation = 'Enter 1 to 64 letters and digits without blanks. The characters . _ - : | @ may follow the first one.';
  return Object.keys(errors).length > 0 ? { errors } : { person: { email, organisation } };
}

export const signInFields = (fields: URLSearchParams): SignInFields => ({
  email: (fields.get('email') ?? '').trim().slice(0, 500),
  organisation: (fields.get('organisation') ?? '').trim().slice(0, 500),
});

/** An authorization request (RFC 6749) with PKCE (RFC 7636). */
export interface Authorization {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  state: string | null;
}

/** The request, or what to correct in it. The redirect URI is validated here. */
export function parseAuthorization(fields: URLSearchParams, origin: string): Authorization | { problem: string } {
  const clientId = fields.get('client_id') ?? '';
  const redirectUri = fields.get('redirect_uri') ?? '';
  const codeChallenge = fields.get('code_challenge') ?? '';
  if (fields.get('response_type') !== 'code') return { problem: 'Use response_type=code: only the authorization code flow is supported.' };
  if (!/^[\x20-\x7e]{1,255}$/.test(clientId))
    return { problem: 'Set client_id to the name of your program: 1 to 255 printable ASCII characters.' };
  if (!isReturnAddress(redirectUri, origin))
    return {
      problem: 'redirect_uri must be a URL of this host, such as http://localhost:3000/callback, or of this service, without a fragment.',
    };
  if (fields.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(codeChallenge))
    return { problem: 'PKCE is required: send code_challenge with code_challenge_method=S256.' };
  return { clientId, redirectUri, codeChallenge, state: fields.get('state') };
}

function isReturnAddress(text: string, origin: string): boolean {
  const url = URL.parse(text);
  if (!url || text.length > 2000 || text.includes('#')) return false;
  return isLoopbackUrl(text) || (url.origin === origin && url.username === '' && url.password === '');
}

/** The request as hidden fields of the sign-in form. */
export const authorizationFields = ({ clientId, redirectUri, codeChallenge, state }: Authorization): [name: string, value: string][] => [
  ['response_type', 'code'],
  ['client_id', clientId],
  ['redirect_uri', redirectUri],
  ['code_challenge', codeChallenge],
  ['code_challenge_method', 'S256'],
  ...(state === null ? [] : [['state', state] satisfies [string, string]]),
];

/** The redirect URI with the code. */
export function returnAddress({ redirectUri, state }: Authorization, answer: { code: string; issuer: string }): string {
  const url = new URL(redirectUri);
  url.searchParams.append('code', answer.code);
  if (state !== null) url.searchParams.append('state', state);
  url.searchParams.append('iss', answer.issuer);
  return url.href;
}

/** The token request, or an error of RFC 6749. */
export function parseExchange(fields: URLSearchParams): CodeExchange | { error: string; description: string } {
  if (fields.get('grant_type') !== 'authorization_code')
    return { error: 'unsupported_grant_type', description: 'Use grant_type=authorization_code.' };
  const codeVerifier = fields.get('code_verifier') ?? '';
  const code = fields.get('code') ?? '';
  if (code === '' || !/^[\w.~-]{43,128}$/.test(codeVerifier))
    return { error: 'invalid_request', description: 'Send code, client_id, redirect_uri and code_verifier as a form.' };
  return { code, codeVerifier, clientId: fields.get('client_id') ?? '', redirectUri: fields.get('redirect_uri') ?? '' };
}
