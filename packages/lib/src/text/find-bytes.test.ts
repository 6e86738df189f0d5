import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { findBytes } from './find-bytes.ts';

it('findBytes finds what indexOf finds, from any place', () => {
  const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength }).map((text) => Buffer.from(text));
  fc.assert(
    fc.property(letters(40), letters(8), fc.nat(40), (bytes, word, from) => {
      fc.pre(from <= bytes.length);
      assert.equal(findBytes(bytes, word, from), bytes.indexOf(word, from));
    }),
    { numRuns: 2000 },
  );
});
