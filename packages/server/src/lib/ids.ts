import { randomBytes } from 'node:crypto';

export type IdPrefix = 'ses' | 'vm' | 'key' | 'wrk' | 'req' | 'job';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * `ses_` and 24 lower-case letters and digits: 124 bits, so ids are not guessed
 * and need no check for collisions. No dot, because a job id splits on its first.
 */
export function newId(prefix: IdPrefix): string {
  let text = '';
  while (text.length < 24) {
    // 252 is the largest multiple of 36 in a byte: above it letters would not be equally likely.
    for (const byte of randomBytes(32)) if (byte < 252 && text.length < 24) text += alphabet[byte % 36];
  }
  return `${prefix}_${text}`;
}
