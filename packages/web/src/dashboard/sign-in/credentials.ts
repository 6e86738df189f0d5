/** What people signed in with. Held in memory; in the tab's session storage when they ask for it; never in an address. */
import { computed, signal } from '@preact/signals';

/** `key`: an API key. `login`: a login token of the identity provider. `admin`: the operator's key. */
export type CredentialKind = 'key' | 'login' | 'admin';

export const credentialNames: Record<CredentialKind, string> = { key: 'API key', login: 'login token', admin: 'admin key' };

type Held = Partial<Record<CredentialKind, string>>;

const storageName = 'berth-credentials';
const kinds: readonly CredentialKind[] = ['key', 'login', 'admin'];

const held = signal<Held>(readStored());
/** Why a credential was dropped. */
export const refusals = signal<Partial<Record<CredentialKind, string>>>({});
export const isSignedIn = computed(() => kinds.some((kind) => held.value[kind] !== undefined));
/** Whether the credentials outlive a reload of the tab. */
export const isRemembered = signal(Object.keys(held.peek()).length > 0);

export const has = (kind: CredentialKind): boolean => held.value[kind] !== undefined;

/** Returns a credential for requests and to be copied: no component shows it whole. */
export const credential = (kind: CredentialKind): string | undefined => held.peek()[kind];

export function signIn(kind: CredentialKind, value: string, { remember = isRemembered.peek() }: { remember?: boolean } = {}): void {
  isRemembered.value = remember;
  const { [kind]: _refused, ...others } = refusals.peek();
  refusals.value = others;
  update({ ...held.peek(), [kind]: value });
}

/** Drops one credential, or all. */
export function signOut(kind?: CredentialKind): void {
  if (kind === undefined) {
    refusals.value = {};
    return update({});
  }
  const { [kind]: _dropped, ...others } = held.peek();
  update(others);
}

/** The service refused the credential: it is dropped, and the sign-in says why. A newer one stays. */
export function refuse(kind: CredentialKind, { used, reason }: { used: string; reason: string }): void {
  if (held.peek()[kind] !== used) return;
  refusals.value = { ...refusals.peek(), [kind]: reason };
  signOut(kind);
}

function update(next: Held): void {
  held.value = next;
  if (isRemembered.peek() && Object.keys(next).length > 0) sessionStorage.setItem(storageName, JSON.stringify(next));
  else sessionStorage.removeItem(storageName);
}

function readStored(): Held {
  try {
    const stored = JSON.parse(sessionStorage.getItem(storageName) ?? '{}') as Record<string, unknown>;
    const entries = kinds.flatMap((kind) => (typeof stored[kind] === 'string' ? [[kind, stored[kind]] as const] : []));
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}
