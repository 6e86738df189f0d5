import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddress } from './address-entry.ts';

test('adds the scheme that people leave out', () => {
  assert.equal(readAddress(' example.com/a?b=c '), 'https://example.com/a?b=c');
  assert.equal(readAddress('example.com:8443'), 'https://example.com:8443');
  assert.equal(readAddress('localhost:3000/x'), 'http://localhost:3000/x');
});

test('keeps the scheme that there is', () => {
  assert.equal(readAddress('http://example.com'), 'http://example.com');
  assert.equal(readAddress('about:blank'), 'about:blank');
});

test('takes words for no address', () => {
  for (const entry of ['', '   ', 'cheap flights', 'http://']) assert.equal(readAddress(entry), undefined, entry);
});
