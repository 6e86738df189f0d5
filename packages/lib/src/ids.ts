import { randomFillSync } from 'node:crypto';

type IdPrefix =
  | 'ses'
  | 'vm'
  | 'key'
  | 'tok'
  | 'wrk'
  | 'req'
  | 'file'
  | 'evt'
  | 'rec'
  | 'lnk'
  | 'rte'
  | 'opr'
  | 'cod'
  | 'skl'
  | 'hea'
  | 'ins'
  | 'pro';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * `ses_` and 24 lower-case letters and digits: 124 bits, so ids cannot be guessed
 * and do not collide. No dot, because a job id splits on its first.
 */
export function newId(prefix: IdPrefix): string {
  let text = '';
  while (text.length < 24) {
    const byte = randomByte();
    // 252 is the largest multiple of 36 in a byte: above it letters would not be equally likely.
    if (byte < 252) text += alphabet[byte % 36];
  }
  return `${prefix}_${text}`;
}

/** Random bytes are buffered, because a system call for each request id would be expensive. */
const drawn = Buffer.alloc(4096);
let next = drawn.length;

function randomByte(): number {
  if (next === drawn.length) {
    randomFillSync(drawn);
    next = 0;
  }
  const byte = drawn[next] ?? 0;
  drawn[next] = 0;
  next += 1;
  return byte;
}

/** Whether a text has the form of such an id. Others are unknown without a query. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.length === prefix.length + 25 && text.startsWith(`${prefix}_`) && /^[0-9a-z]{24}$/.test(text.slice(-24));
