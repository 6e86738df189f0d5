import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { Poster } from './video/frame-track.ts';

/** JPEGs of one colour repeat themselves; what is drawn does not. */
const blank = Buffer.concat([randomBytes(600), Buffer.alloc(14_000, 0x28)]);
const sparse = Buffer.concat([randomBytes(900), Buffer.alloc(14_000, 0x28)]);
const drawn = Buffer.concat([randomBytes(6000), Buffer.alloc(14_000, 0x28)]);

describe('a poster', () => {
  it('a poster is the first picture that shows something', () => {
    const poster = new Poster();
    assert.equal(poster.offer(drawn), drawn);
    assert.equal(poster.offer(Buffer.concat([drawn, drawn])), null);
  });

  it('a poster is a blank picture only until there is a better one', () => {
    const poster = new Poster();
    assert.deepEqual(
      [poster.offer(blank), poster.offer(blank), poster.offer(sparse), poster.offer(drawn), poster.offer(sparse)],
      [blank, null, sparse, drawn, null],
    );
  });
});
