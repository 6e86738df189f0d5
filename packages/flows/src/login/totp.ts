/** One-time codes of RFC 6238: HMAC-SHA-1, six digits, thirty seconds. */
import { createHmac } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const periodMs = 30_000;
const digits = 6;

/** Base32 (RFC 4648) in either case, with spaces, dashes and padding as people copy it; null for other text. */
export function parseBase32(text: string): Buffer | null {
  const letters = text.replace(/[\s=-]/g, '').toUpperCase();
  let bits = 0;
  let value = 0;
  const bytes: number[] = [];
  for (const letter of letters) {
    const index = alphabet.indexOf(letter);
    if (index < 0) return null;
    value = ((value << 5) | index) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  return bytes.length === 0 ? null : Buffer.from(bytes);
}

export function totp(secret: Buffer, nowMs: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / periodMs)));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
}
