import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockFrom, frameAt, type FrameLine } from './frame-blocks.ts';

const frames = (count: number, length: number): FrameLine[] =>
  Array.from({ length: count }, (_, index) => ({ t_ms: 100 + index * 200, offset: index * length, length }));

test('the player shows the frame that was taken last, and the first one before all', () => {
  const three = frames(3, 10);
  assert.deepEqual(
    [0, 100, 299, 300, 9999].map((ms) => frameAt(three, ms)),
    [0, 0, 0, 1, 2],
  );
  assert.equal(frameAt([], 5), -1);
});

test('frames that lie side by side are fetched together, within bounds', () => {
  assert.deepEqual(blockFrom(frames(100, 10), 5), { first: 5, last: 29, fromByte: 50, toByte: 290 });
  assert.deepEqual(blockFrom(frames(3, 10), 1), { first: 1, last: 3, fromByte: 10, toByte: 30 });
  assert.equal(blockFrom(frames(100, 900_000), 0)?.last, 2);
  assert.equal(blockFrom(frames(100, 5_000_000), 7)?.last, 8);
  assert.equal(blockFrom(frames(3, 10), 3), undefined);
});

test('a block of frames stops at a gap', () => {
  const lines = frames(4, 10).map((line, index) => (index < 2 ? line : { ...line, offset: line.offset + 7 }));
  assert.equal(blockFrom(lines, 0)?.last, 2);
});
