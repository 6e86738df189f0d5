/** Tokens that say nothing to who holds them: links are in histories, logs and screenshots. */
import { hkdfSync } from 'node:crypto';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';

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

const algorithms = { alg: 'dir', enc: 'A256GCM' } as const;

/** The secret has other uses, and a key of this cipher must have none. */
const keyOf = (secret: Buffer): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, '', 'berth sealed token', 32));

/** Returns the claims as an encrypted JWT (RFC 7519, RFC 7516). The token is not stored. */
export function sealToken(secret: Buffer, { purpose, expiresAt, ...claims }: TokenClaims): Promise<string> {
  const token = new EncryptJWT(claims).setAudience(purpose).setExpirationTime(expiresAt);
  return token.setProtectedHeader(algorithms).encrypt(keyOf(secret));
}

/** The claims of a valid token of this purpose that has not expired; else null. */
export async function openToken(secret: Buffer, token: string, purpose: string, now: Date): Promise<TokenClaims | null> {
  try {
    const { payload } = await jwtDecrypt(token, keyOf(secret), {
      audience: purpose,
      currentDate: now,
      keyManagementAlgorithms: [algorithms.alg],
      contentEncryptionAlgorithms: [algorithms.enc],
    });
    const { aud: _, exp: expiresAt, ...claims } = payload;
    // This service sealed it, so the shape is known.
    return { purpose, expiresAt, ...claims } as unknown as TokenClaims;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
