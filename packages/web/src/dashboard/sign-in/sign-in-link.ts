/** Links that sign in once: their secret is in the fragment, which the address loses before anything is shown. */
import { signal } from '@preact/signals';
import { toShown } from '../api-error.ts';
import { call } from '../api.ts';
import { toasts } from '../ui/toasts.ts';
import { isSignedIn, signIn } from './credentials.ts';

/** Why the link that was opened did not sign in; null where it did, or there was none. */
export const linkError = signal<string | null>(null);

const tokenOf = (fragment: string): string | null => /^#link=(\w+)$/.exec(fragment)?.[1] ?? null;

/**
 * Signs in by the link in this window's address, if there is one, in place of who was signed in. A reload keeps the key: the
 * link would not work again.
 */
export async function redeemLink(): Promise<void> {
  const token = tokenOf(location.hash);
  if (token === null) return;
  history.replaceState(null, '', '/dashboard');
  try {
    const { key, owner } = await call('redeemSignInLink', { body: { token } });
    if (key === null) return;
    signIn('key', key, { remember: true });
    toasts.show(`Signed in as ${owner}.`);
  } catch (error) {
    linkError.value = toShown(error).message;
    if (isSignedIn.peek()) toasts.show(linkError.value);
  }
}

/** A link that is opened in a tab with the dashboard changes the fragment alone, and loads nothing. */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (tokenOf(location.hash) !== null) location.reload();
  });
}
