/** Codes that people type in: 130 random bits, without ambiguous characters. */
import { hash, randomBytes } from 'node:crypto';

/** Crockford's base 32: no I, L, O or U. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const letters = 26;

/** `CREDIT-7ZQ4N-…`: the word names the purpose and is not part of the secret. */
export function newCode(word: string): string {
  const text = Array.from(randomBytes(letters), (byte) => alphabet[byte % 32]).join('');
  return [word, ...(text.match(/.{1,5}/g) ?? [])].join('-');
}

/**
 * SHA-256 of the normalized code, which is all that is stored of it. Case,
 * dashes, spaces and look-alike letters do not matter.
 */
export function codeDigest(code: string): Buffer {
  const meant = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  return hash('sha256', meant, 'buffer');
}
