/** What people signed in with. Held in memory; in the tab's session storage when they ask for it; never in an address. */
import { computed, signal } from '@preact/signals';

/** `key`: an API key. `login`: a login token of the identity provider. `admin`: the operator's key. */
export type CredentialKind = 'key' | 'login' | 'admin';

export const credentialNames: Record<CredentialKind, string> = { key: 'API key', login: 'login token', admin: 'admin key' };

interface Held extends Partial<Record<CredentialKind, string>> {
  /** When the key expires (RFC 3339); absent where it does not, or was pasted and nobody said. */
  keyExpiresAt?: string;
  /** Of a key that a sign-in link was exchanged for: it is of this tab alone. */
  keyOrigin?: 'link';
}

const storageName = 'berth-credentials';
const kinds: readonly CredentialKind[] = ['key', 'login', 'admin'];

const held = signal<Held>(readStored());
/** Why a credential was dropped. */
export const refusals = signal<Partial<Record<CredentialKind, string>>>({});
export const isSignedIn = computed(() => kinds.some((kind) => held.value[kind] !== undefined));
/** Whether the credentials outlive a reload of the tab. */
export const isRemembered = signal(isSignedIn.peek());

export const has = (kind: CredentialKind): boolean => held.value[kind] !== undefined;

/** Returns a credential for requests and to be copied: no component shows it whole. */
export const credential = (kind: CredentialKind): string | undefined => held.peek()[kind];

/** When the key that is held expires (RFC 3339); null where it does not, or that is unknown, as of a pasted one. */
export const keyExpiresAt = (): string | null => held.value.keyExpiresAt ?? null;

/** Whether the key came of a sign-in link, and so is revoked when the person signs out. */
export const isKeyOfLink = (): boolean => held.value.keyOrigin === 'link';

interface SignInOptions {
  /** Whether a reload of the tab keeps the credential. Default: as the ones before. */
  remember?: boolean;
  /** When a key expires (RFC 3339), where the service has said so. */
  expiresAt?: string | null;
  /** Whether a key came of a sign-in link. */
  isOfLink?: boolean;
}

export function signIn(
  kind: CredentialKind,
  value: string,
  { remember = isRemembered.peek(), expiresAt = null, isOfLink = false }: SignInOptions = {},
): void {
  isRemembered.value = remember;
  const { [kind]: _refused, ...refusedOthers } = refusals.peek();
  refusals.value = refusedOthers;
  const next: Held = { ...without(kind), [kind]: value };
  if (kind === 'key' && expiresAt !== null) next.keyExpiresAt = expiresAt;
  if (kind === 'key' && isOfLink) next.keyOrigin = 'link';
  replace(next);
}

/** Drops one credential, or all. */
export function signOut(kind?: CredentialKind): void {
  if (kind === undefined) {
    refusals.value = {};
    return replace({});
  }
  replace(without(kind));
}

const dropListeners: ((key: string) => void)[] = [];

/** Calls the listener with each key of a sign-in link that this tab gives up while it is still valid. */
export function onLinkKeyDropped(listener: (key: string) => void): void {
  dropListeners.push(listener);
}

/** What is held beside a credential, and what belongs to it. */
function without(kind: CredentialKind): Held {
  const { [kind]: _dropped, ...others } = held.peek();
  if (kind !== 'key') return others;
  const { keyExpiresAt: _expiresAt, keyOrigin: _origin, ...rest } = others;
  return rest;
}

function replace(next: Held): void {
  const { key, keyOrigin: origin } = held.peek();
  update(next);
  if (origin === 'link' && key !== undefined && key !== next.key) for (const listener of dropListeners) listener(key);
}

/** The service refused the credential: it is dropped, and the sign-in says why. A newer one stays. */
export function refuse(kind: CredentialKind, { used, reason }: { used: string; reason: string }): void {
  if (held.peek()[kind] !== used) return;
  refusals.value = { ...refusals.peek(), [kind]: reason };
  update(without(kind));
}

function update(next: Held): void {
  held.value = next;
  if (isRemembered.peek() && Object.keys(next).length > 0) sessionStorage.setItem(storageName, JSON.stringify(next));
  else sessionStorage.removeItem(storageName);
}

function readStored(): Held {
  try {
    const stored = JSON.parse(sessionStorage.getItem(storageName) ?? '{}') as Record<string, unknown>;
    const entries = [...kinds, 'keyExpiresAt', 'keyOrigin'].flatMap((kind) =>
      typeof stored[kind] === 'string' ? [[kind, stored[kind]] as const] : [],
    );
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}
