import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Key } from '@berth/contract';
import { apiKeyPrefix, type connectTokenPrefix, type signInLinkPrefix } from '@berth/lib/secrets/credential-prefixes.ts';

/**
 * The prefix, 32 random bytes as 43 characters of base 62, and the CRC-32 of all
 * before it as 6 more. By the checksum, secret scanners recognise a key with
 * certainty, and a mistyped key is refused without a query.
 */
type Prefix = typeof apiKeyPrefix | typeof connectTokenPrefix | typeof signInLinkPrefix;
const pattern = /^[0-9A-Za-z]{49}$/;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text;
  return text;
}

const checksum = (text: string): string => base62(BigInt(crc32(text)), 6);

export function newRawKey(prefix: Prefix = apiKeyPrefix): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  return body + checksum(body);
}

/** Whether a text has the form and checksum of a key. */
export const isWellFormed = (raw: string, prefix: Prefix = apiKeyPrefix): boolean =>
  raw.startsWith(prefix) && pattern.test(raw.slice(prefix.length)) && checksum(raw.slice(0, -6)) === raw.slice(-6);

/** A fast hash is sufficient: a key has 256 random bits. */
export const digestOf = (raw: string): Buffer => hash('sha256', raw, 'buffer');

export interface ApiKey {
  keyId: string;
  owner: string;
  name: string | null;
  last4: string;
  createdAt: Date;
  createdBy: string;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** `createdBy` of a key that a sign-in link was exchanged for: of a person's sign-in, not of a program. */
export const signInLinkCreator = 'sign_in_link';

export interface CreatedKey {
  key: ApiKey;
  /** The key itself, which is only returned here and never stored. */
  raw: string;
}

export function keyStatus(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: Date): Key['status'] {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt <= now ? 'expired' : 'active';
}

export const toKey = (key: ApiKey, now: Date): Key => ({
  key_id: key.keyId,
  name: key.name,
  prefix: apiKeyPrefix,
  last4: key.last4,
  owner: key.owner,
  created_at: key.createdAt.toISOString(),
  created_by: key.createdBy,
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
  expires_at: key.expiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
  status: keyStatus(key, now),
});
