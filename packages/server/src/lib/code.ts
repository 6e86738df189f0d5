/** Codes that are handed out on paper and typed in: 130 random bits, and nothing that is taken for something else. */
import { hash, randomBytes } from 'node:crypto';

/** Crockford's base 32: no I, L, O or U. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const letters = 26;

/** `CREDIT-7ZQ4N-…`: the word tells a person what it is for, and is no part of the secret. */
export function newCode(word: string): string {
  const text = Array.from(randomBytes(letters), (byte) => alphabet[byte % 32]).join('');
  return [word, ...(text.match(/.{1,5}/g) ?? [])].join('-');
}

/**
 * What is kept of a code: SHA-256 of it as it is meant. Case, dashes and blanks
 * do not matter, nor do the letters that people read for one another.
 */
export function codeDigest(code: string): Buffer {
  const meant = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  return hash('sha256', meant, 'buffer');
}
