import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isWellFormed, newRawKey } from './api-key.ts';

describe('a raw key', () => {
  it('a raw API key has the prefix, 43 characters and a checksum of 6', () => {
    for (let n = 0; n < 200; n += 1) {
      const key = newRawKey();
      assert.match(key, /^brt_live_[0-9A-Za-z]{49}$/);
      assert.ok(isWellFormed(key));
    }
  });

  it('a raw API key is distinguished from a mistyped one without a query', () => {
    const key = newRawKey();
    fc.assert(
      fc.property(fc.integer({ min: 9, max: key.length - 1 }), fc.constantFrom(...'0aZ9'), (selector, letter) => {
        fc.pre(key[selector] !== letter);
        assert.equal(isWellFormed(key.slice(0, selector) + letter + key.slice(selector + 1)), false);
      }),
    );
  });

  it('other texts are not taken for a raw API key', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(isWellFormed(text), false)));
  });
});
