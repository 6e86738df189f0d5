import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBase32, totp } from './totp.ts';

test('TOTP makes the codes of RFC 6238, appendix B', () => {
  const secret = Buffer.from('12345678901234567890');
  const codes: [number, string][] = [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ];
  for (const [seconds, code] of codes) assert.equal(totp(secret, seconds * 1000), code);
});

test('TOTP reads base32 as people copy it', () => {
  assert.equal(parseBase32('gezd gnbv-GY3TQOJQ GEZDGNBVGY3TQOJQ====')?.toString(), '12345678901234567890');
  for (const text of ['', '1', 'GEZD!', 'a b c 8']) assert.equal(parseBase32(text), null, text);
});
