import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestCookies } from './cookies.ts';

const site = new URL('https://shop.test/');

test('a request takes 180 cookies of its sites, and none that is larger than 8 KiB with its attributes', () => {
  const cookies = new RequestCookies();
  const large = (bytes: number): string => `large${bytes}=${'x'.repeat(bytes - `large${bytes}=`.length)}`;
  cookies.take([large(8193), large(8192)], site);
  assert.deepEqual(cookies.names, ['large8192']);
  cookies.take(
    Array.from({ length: 400 }, (_, index) => `c${index}=1`),
    site,
  );
  cookies.take(['late=1'], site);
  assert.deepEqual([cookies.names.length, cookies.names.at(-1)], [180, 'c178']);
  assert.ok(!cookies.header(site).includes('c179'));
});
