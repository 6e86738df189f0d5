import { createHmac, timingSafeEqual } from 'node:crypto';

export interface TokenClaims {
  /** A token is valid for one purpose only. */
  purpose: string;
  owner: string;
  session: string;
  /** The key that requested it: the token is valid only as long as the key. */
  keyId: string | null;
  /** Epoch seconds. */
  expiresAt: number;
  /** Restricts what the token allows. */
  scope?: string;
  /** Epoch ms: all tokens issued before a time can be revoked at once. */
  issuedAtMs?: number;
  /** Public id of this token. */
  grantId?: string;
}

const mac = (secret: Buffer, payload: string): Buffer => createHmac('sha256', secret).update(payload).digest();

/** Returns `payload.mac`, both in base64url. The token is not stored. */
export function signToken(secret: Buffer, claims: TokenClaims): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${payload}.${mac(secret, payload).toString('base64url')}`;
}

/** The claims of a valid token of this purpose that has not expired; else null. */
export function verifyToken(secret: Buffer, token: string, purpose: string, now: Date): TokenClaims | null {
  const [payload, signature, rest] = token.split('.');
  if (!payload || !signature || rest !== undefined) return null;
  const expected = mac(secret, payload);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  // The signature is valid, so the shape is known.
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenClaims;
  return claims.purpose === purpose && claims.expiresAt * 1000 > now.getTime() ? claims : null;
}
