import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import { toLiveFrame } from './viewer.ts';

const frame = { seq: 7, data: Buffer.from('a jpeg'), tabId: 'T1', width: 1280, height: 719.6, drawnAtMs: 1_800_000_000_000.25 };

describe('a frame on its way to viewers', () => {
  it('a live view frame is a header of the contract’s form and the picture', () => {
    const { seq, message } = toLiveFrame(frame);
    assert.equal(seq, 7);
    assert.equal(message.readUInt8(0), frameKind);
    assert.equal(message.readUInt32LE(4), 7);
    assert.equal(message.readDoubleLE(8), frame.drawnAtMs);
    assert.deepEqual([message.readUInt16LE(16), message.readUInt16LE(18)], [1280, 720]);
    assert.equal(message.subarray(frameHeaderBytes).toString(), 'a jpeg');
  });

  it('the number of a live view frame begins anew after the last that the header can hold', () => {
    assert.equal(toLiveFrame({ ...frame, seq: 2 ** 32 - 1 }).seq, 2 ** 32 - 1);
    assert.equal(toLiveFrame({ ...frame, seq: 2 ** 32 }).seq, 0);
  });

  it('a live view frame states no size that the header cannot hold', () => {
    assert.equal(toLiveFrame({ ...frame, width: 100_000 }).message.readUInt16LE(16), 65_535);
  });
});
