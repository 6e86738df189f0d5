import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWatchOnly } from './vnc.ts';

const updateRequest = [3, 1, 0, 0, 0, 0, 5, 0, 2, 208];
const fence = [248, 0, 0, 0, 0, 0, 0, 1, 3, 1, 2, 3];
const pointer = [5, 1, 0, 10, 0, 10];

describe('RFB messages of a client', () => {
  it('RFB messages are watch-only when they only request updates', () => {
    for (const bytes of [updateRequest, fence, [...updateRequest, ...fence, ...updateRequest], [150, 1, 0, 0, 0, 0, 5, 0, 2, 208]])
      assert.equal(isWatchOnly(Buffer.from(bytes)), true, String(bytes));
  });

  it('RFB messages count as activity when there is anything else', () => {
    for (const bytes of [
      pointer,
      [...updateRequest, ...pointer],
      [4, 1, 0, 0, 0, 0, 0, 97],
      [6, 0, 0, 0, 0, 0, 0, 1, 65],
      [3, 1],
      [248],
      [255, 0],
    ])
      assert.equal(isWatchOnly(Buffer.from(bytes)), false, String(bytes));
  });
});
