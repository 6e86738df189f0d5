/** What people and programs send to the development issuer, read and judged. */
import { OwnerId } from '@berth/contract';
import { z } from 'zod';
import type { Person } from './dev-codes.ts';
import { isLoopbackUrl } from './loopback.ts';

/** As typed, so that a form with a mistake in it is not to be filled in again. */
export interface SignInFields {
  email: string;
  organisation: string;
}

export type FieldFaults = Partial<Record<keyof SignInFields, string>>;

const Email = z.email().max(254);

/** Who signs in, or what they should change. */
export function readPerson({ email, organisation }: SignInFields): { person: Person } | { faults: FieldFaults } {
  const faults: FieldFaults = {};
  if (!Email.safeParse(email).success) faults.email = 'Enter an e-mail address, such as ada@example.com.';
  if (!OwnerId.safeParse(organisation).success)
    faults.organisation = 'Enter 1 to 64 letters and digits without blanks. The characters . _ - : | @ may follow the first one.';
  return Object.keys(faults).length > 0 ? { faults } : { person: { email, organisation } };
}

export const signInFields = (fields: URLSearchParams): SignInFields => ({
  email: (fields.get('email') ?? '').trim().slice(0, 500),
  organisation: (fields.get('organisation') ?? '').trim().slice(0, 500),
});

/** What a program asks for that wants a login token (RFC 6749, with the proof key of RFC 7636). */
export interface Authorization {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  state: string | null;
}

/** The request, or what the program's author should change. Nobody is sent to an address that was not checked. */
export function readAuthorization(fields: URLSearchParams, origin: string): Authorization | { problem: string } {
  const clientId = fields.get('client_id') ?? '';
  const redirectUri = fields.get('redirect_uri') ?? '';
  const codeChallenge = fields.get('code_challenge') ?? '';
  if (fields.get('response_type') !== 'code') return { problem: 'Ask with response_type=code: there are authorization codes only.' };
  if (!/^[\x20-\x7e]{1,255}$/.test(clientId))
    return { problem: 'Say which program you are in client_id: any name of up to 255 ASCII characters.' };
  if (!isReturnAddress(redirectUri, origin))
    return {
      problem:
        'redirect_uri must be an address of this machine, such as http://localhost:3000/callback, or of this service, without a fragment.',
    };
  if (fields.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(codeChallenge))
    return { problem: 'Prove with PKCE that the code is yours: code_challenge, with code_challenge_method=S256.' };
  return { clientId, redirectUri, codeChallenge, state: fields.get('state') };
}

function isReturnAddress(text: string, origin: string): boolean {
  const url = URL.parse(text);
  if (!url || text.length > 2000 || text.includes('#')) return false;
  return isLoopbackUrl(text) || (url.origin === origin && url.username === '' && url.password === '');
}

/** The same as fields of a form, for the page that stands between. */
export const authorizationFields = ({ clientId, redirectUri, codeChallenge, state }: Authorization): [name: string, value: string][] => [
  ['response_type', 'code'],
  ['client_id', clientId],
  ['redirect_uri', redirectUri],
  ['code_challenge', codeChallenge],
  ['code_challenge_method', 'S256'],
  ...(state === null ? [] : [['state', state] satisfies [string, string]]),
];

/** Where the program waits for its code. */
export function returnAddress({ redirectUri, state }: Authorization, answer: { code: string; issuer: string }): string {
  const url = new URL(redirectUri);
  url.searchParams.append('code', answer.code);
  if (state !== null) url.searchParams.append('state', state);
  url.searchParams.append('iss', answer.issuer);
  return url.href;
}

interface CodeExchange {
  code: string;
  clientId: string;
  redirectUri: string;
  codeVerifier: string;
}

/** A program that wants its token; a word of RFC 6749 for what is wrong with the request. */
export function readExchange(fields: URLSearchParams): CodeExchange | { error: string; description: string } {
  if (fields.get('grant_type') !== 'authorization_code')
    return { error: 'unsupported_grant_type', description: 'There is grant_type=authorization_code only.' };
  const codeVerifier = fields.get('code_verifier') ?? '';
  const code = fields.get('code') ?? '';
  if (code === '' || !/^[\w.~-]{43,128}$/.test(codeVerifier))
    return { error: 'invalid_request', description: 'Send code, client_id, redirect_uri and code_verifier as a form.' };
  return { code, codeVerifier, clientId: fields.get('client_id') ?? '', redirectUri: fields.get('redirect_uri') ?? '' };
}
