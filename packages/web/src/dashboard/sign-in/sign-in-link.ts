/** Links that sign in once: their secret is in the fragment, which the address loses before anything is shown. */
import { signal } from '@preact/signals';
import { toShown } from '../api-error.ts';
import { call } from '../api.ts';
import { toasts } from '../ui/toasts.ts';
import { isSignedIn, onLinkKeyDropped, signIn, signOut } from './credentials.ts';

/** Why the link that was opened did not sign in; null where it did, or there was none. */
export const linkError = signal<string | null>(null);

const fragmentStart = '#link=';
/** Longest secret that the service reads. */
const tokenLengthMax = 200;

const isLink = (fragment: string): boolean => fragment.startsWith(fragmentStart);

/** The secret of a link, without the punctuation that was copied with it; null where there is none. */
function tokenOf(fragment: string): string | null {
  const [token = ''] = /^\w*/.exec(fragment.slice(fragmentStart.length)) ?? [];
  return token === '' || token.length > tokenLengthMax ? null : token;
}

/**
 * Signs in by the link in this window's address, if there is one, in place of whoever was signed in. A reload keeps the key:
 * the link would not work again. The secret leaves the address whatever its form: one that is not whole may still be guessed.
 */
export async function redeemLink(): Promise<void> {
  const { hash } = location;
  if (!isLink(hash)) return;
  history.replaceState(null, '', '/dashboard');
  try {
    const token = tokenOf(hash);
    if (token === null) throw new Error('This link is not whole. Copy it again from its beginning to its end.');
    const { key, owner, expires_at: expiresAt } = await call('redeemSignInLink', { body: { token } });
    if (key === null) return;
    signOut();
    signIn('key', key, { remember: true, expiresAt, isOfLink: true });
    toasts.show(`Signed in as ${owner}.`);
  } catch (error) {
    linkError.value = toShown(error).message;
    if (isSignedIn.peek()) toasts.show(linkError.value);
  }
}

/** A link that is opened in a tab with the dashboard changes the fragment alone, and loads nothing. */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (isLink(location.hash)) location.reload();
  });
}

/**
 * Revokes the keys of links with which a person signs out. Nobody waits for it: without an answer the key expires within its
 * day. The request goes on when the tab is closed.
 */
export function revokeDroppedKeys(): void {
  onLinkKeyDropped((key) => {
    const headers = { authorization: `Bearer ${key}` };
    void call('endLinkSignIn', { headers, keepalive: true }).catch(() => undefined);
  });
}
