import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import { parseFrame } from './frame.ts';

function message({ kind = frameKind, seq = 7, width = 1280, height = 720, jpeg = [0xff, 0xd8] } = {}): ArrayBuffer {
  const bytes = new Uint8Array(frameHeaderBytes + jpeg.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, kind);
  view.setUint32(4, seq, true);
  view.setFloat64(8, 1_767_225_600_123.5, true);
  view.setUint16(16, width, true);
  view.setUint16(18, height, true);
  bytes.set(jpeg, frameHeaderBytes);
  return bytes.buffer;
}

test('a live view message is split into the header and the unchanged picture', () => {
  const frame = parseFrame(message({ seq: 0xffff_fffe }));
  assert.ok(frame);
  assert.equal(frame.seq, 0xffff_fffe);
  assert.equal(frame.drawnAtMs, 1_767_225_600_123.5);
  assert.deepEqual([frame.width, frame.height], [1280, 720]);
  assert.deepEqual([...frame.jpeg], [0xff, 0xd8]);
});

test('a message that is no live view frame is refused', () => {
  assert.equal(parseFrame(new ArrayBuffer(0)), undefined);
  assert.equal(parseFrame(message({ jpeg: [] })), undefined);
  assert.equal(parseFrame(message({ kind: 2 })), undefined);
  assert.equal(parseFrame(message({ width: 0 })), undefined);
  assert.equal(parseFrame(message({ height: 0 })), undefined);
});
