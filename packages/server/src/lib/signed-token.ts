import { createHmac, timingSafeEqual } from 'node:crypto';

export interface TokenClaims {
  /** What the token is good for: a token of one purpose is refused for every other. */
  purpose: string;
  owner: string;
  session: string;
  /** The key that asked for it: the token dies with the key. */
  keyId: string | null;
  /** Epoch seconds. */
  expiresAt: number;
  /** How much of its purpose it allows, where that differs. */
  scope?: string;
  /** Epoch ms at which it was made: all that were made before a time can be taken back at once. */
  issuedAtMs?: number;
  /** A name for this one token that is no secret. */
  grantId?: string;
}

const mac = (secret: Buffer, payload: string): Buffer => createHmac('sha256', secret).update(payload).digest();

/** `payload.mac`, both base64url: short-lived, bound to what its claims say, kept nowhere. */
export function signToken(secret: Buffer, claims: TokenClaims): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${payload}.${mac(secret, payload).toString('base64url')}`;
}

/** The claims of a token that is ours, of this purpose and not expired; null for every other text. */
export function verifyToken(secret: Buffer, token: string, purpose: string, now: Date): TokenClaims | null {
  const [payload, signature, rest] = token.split('.');
  if (!payload || !signature || rest !== undefined) return null;
  const expected = mac(secret, payload);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  // Only what we signed ourselves is parsed, so its shape is known.
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenClaims;
  return claims.purpose === purpose && claims.expiresAt * 1000 > now.getTime() ? claims : null;
}
