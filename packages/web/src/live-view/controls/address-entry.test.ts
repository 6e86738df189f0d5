import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from './address-entry.ts';

test('the address bar adds the scheme that people leave out', () => {
  assert.equal(parseAddress(' example.com/a?b=c '), 'https://example.com/a?b=c');
  assert.equal(parseAddress('example.com:8443'), 'https://example.com:8443');
  assert.equal(parseAddress('localhost:3000/x'), 'http://localhost:3000/x');
});

test('the address bar keeps the scheme that there is', () => {
  assert.equal(parseAddress('http://example.com'), 'http://example.com');
  assert.equal(parseAddress('about:blank'), 'about:blank');
});

test('the address bar takes words for no address', () => {
  for (const entry of ['', '   ', 'cheap flights', 'http://']) assert.equal(parseAddress(entry), undefined, entry);
});
