/** One-time codes of RFC 6238: SHA-1, six digits, thirty seconds. */
import { createHmac } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const stepMs = 30_000;

/** The code for a base32 secret at a time in milliseconds. */
export function totp(secret: string, nowMs: number): string {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / stepMs)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Whether the code is valid for the current, previous or next step, to allow for clock skew. */
export const fits = (code: string, secret: string, nowMs: number): boolean =>
  [-stepMs, 0, stepMs].some((skew) => totp(secret, nowMs + skew) === code);
