/** Who calls: what a request brings to be recognised by, and what is known of its caller afterwards. */
import type { Auth, ViewScope } from '@berth/contract';

/** The authenticated caller. */
export interface Principal {
  /** null for the operator and for public endpoints. */
  owner: string | null;
  keyId: string | null;
  /** The rate limit of the owner's plan; null: unlimited. */
  requestsPerMinute: number | null;
  /** Namespace of idempotency keys and of the rate limit: one per owner, one for the operator. */
  scope: string;
  /** The `sub` claim of the login token; absent for keys. */
  subject?: string;
  /** Id of the connect token, for callers with one. `keyId` is then the key that created it. */
  connectTokenId?: string;
  /** How long sessions that the connect token creates wait for a client that has disconnected. */
  reconnectSeconds?: number;
  /** Set for callers with a view link; absent for keys. */
  viewer?: Viewer;
}

/** A caller with a view link. */
export interface Viewer {
  /** Id of the link. */
  grantId: string;
  sessionId: string;
  scope: ViewScope | 'vnc';
  /** Epoch ms at which the link was issued: links issued before a revocation are invalid. */
  issuedAtMs: number;
  /** Whether the token itself was sent: the response then sets the cookie. */
  isFirstLoad: boolean;
}

/** The actor as the audit log names it. */
export function actorOf({ keyId, subject, connectTokenId }: Principal): string {
  if (connectTokenId !== undefined) return `connect_token:${connectTokenId}`;
  if (keyId !== null) return `key:${keyId}`;
  return subject === undefined ? 'operator' : `login:${subject}`;
}

/** @throws Error where the endpoint's guard sets no owner */
export function ownerOf({ owner }: Principal): string {
  if (owner === null) throw new Error('the guard of this endpoint sets no owner');
  return owner;
}

export const callerOf = (principal: Principal): { owner: string; actor: string } => ({
  owner: ownerOf(principal),
  actor: actorOf(principal),
});

/** The credentials of a request. */
export interface Credentials {
  /** The value of the one `Authorization` header. */
  authorization: string | undefined;
  adminKey: string | undefined;
  /** `?token=`, or the token in the path, for the auth classes that take one. */
  token: string | undefined;
  /** All view cookies: a browser sends one for each matching path. */
  viewCookies: readonly string[];
  params: Record<string, string>;
}

/** The token of `Authorization: Bearer TOKEN`. */
export const bearerOf = ({ authorization = '' }: Credentials): string | undefined => /^Bearer +(\S+) *$/i.exec(authorization)?.[1];

/** @throws ServiceError of the missing or invalid credential */
export type Guard = (credentials: Credentials) => Promise<Principal> | Principal;
export type Guards = Record<Auth, Guard>;
