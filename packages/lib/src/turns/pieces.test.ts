import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromPieces, toPieces } from './pieces.ts';

const values: Record<string, () => unknown> = {
  'a small value': () => ({ a: [1, 'two', null, { b: true }], c: undefined }),
  'a value without parts': () => 'text',
  'a long list': () => Array.from({ length: 10_000 }, (_, i) => ({ name: `n${i}`, value: [i] })),
  'long lists in a list': () => ({ origins: [1, 2, 3].map((n) => ({ n, items: Array.from({ length: 9000 }, (_, i) => i), after: n })) }),
  'a long list in a long list': () => Array.from({ length: 3000 }, (_, i) => (i % 1000 === 0 ? Array(5000).fill(i) : i)),
  'an object of many fields': () => Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`k${i}`, { i }])),
  'holes of fields': () => ({ empty: [], none: {}, deep: [[[[]]]] }),
};

describe('a value that passes in pieces', () => {
  for (const [name, create] of Object.entries(values))
    it(`a value that passes in pieces is unchanged: ${name}`, async () => assert.deepEqual(await fromPieces(toPieces(create())), create()));

  it('a large value passes in many pieces, none of which has all of it', () => {
    const pieces = toPieces(Array.from({ length: 100_000 }, (_, i) => ({ name: 'a', i })));
    assert.ok(pieces.length >= 100, `${pieces.length}`);
    assert.ok(pieces.every(({ entries }) => entries.length < 100_000));
  });

  it('a value that passes in pieces leaves the event loop to others between two', async () => {
    const pieces = toPieces(Array.from({ length: 100_000 }, (_, i) => ({ name: 'a', i })));
    let turns = 0;
    const count = setInterval(() => (turns += 1), 0);
    await fromPieces(pieces);
    clearInterval(count);
    assert.ok(turns >= 5, `${turns}`);
  });
});
