import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toUrl } from './to-url.ts';

test('toUrl completes a host name, and leaves an address as it is', () => {
  assert.deepEqual([' shop.example/a ', 'http://a', 'HTTPS://a', 'localhost:80', 'about:blank', ''].map(toUrl), [
    'https://shop.example/a',
    'http://a',
    'HTTPS://a',
    'http://localhost:80',
    'about:blank',
    '',
  ]);
});
