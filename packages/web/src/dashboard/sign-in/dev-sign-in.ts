/**
 * The development sign-in, by the authorization code flow with PKCE (RFC 7636): the code in the address opens nothing
 * without the verifier, which stays in this tab.
 */
import { signIn } from './credentials.ts';

const issuerPath = '/dev-idp';
const clientId = 'berth-dashboard';
const storageName = 'berth-sign-in';

interface Pending {
  state: string;
  verifier: string;
  remember: boolean;
  /** Where the sign-in began. */
  from: string;
}

const returnAddress = (): string => `${location.origin}/dashboard/signed-in`;

const randomText = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Leaves the dashboard for the sign-in page, which leads back. */
export async function startSignIn({ remember }: { remember: boolean }): Promise<void> {
  const pending: Pending = { state: randomText(), verifier: randomText(), remember, from: location.pathname };
  sessionStorage.setItem(storageName, JSON.stringify(pending));
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: returnAddress(),
    code_challenge: toBase64Url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
    state: pending.state,
  });
  location.assign(`${issuerPath}/authorize?${query}`);
}

/** Finishes a sign-in that has just led back here; does nothing elsewhere. @throws Error for one that failed */
export async function completeSignIn(): Promise<void> {
  if (location.pathname !== '/dashboard/signed-in') return;
  const answer = new URLSearchParams(location.search);
  const pending = takePending();
  history.replaceState(null, '', pending?.from ?? '/dashboard');
  const code = answer.get('code');
  if (!pending || code === null || answer.get('state') !== pending.state)
    throw new Error('The sign-in did not start in this tab, or was completed before. Sign in again.');
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: returnAddress(),
    code_verifier: pending.verifier,
  });
  const response = await fetch(`${issuerPath}/token`, { method: 'POST', body: form });
  if (!response.ok) throw new Error('The sign-in has expired. Sign in again.');
  const { access_token: token } = (await response.json()) as { access_token: string };
  signIn('login', token, { remember: pending.remember });
}

function takePending(): Pending | null {
  const stored = sessionStorage.getItem(storageName);
  sessionStorage.removeItem(storageName);
  return stored === null ? null : (JSON.parse(stored) as Pending);
}
