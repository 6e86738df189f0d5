import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as ws from 'ws';
import { closeFrame, FrameBoundary } from './frame-boundary.ts';

/** What the library writes. */
const frame = (data: Buffer, { opcode = 2, mask = false } = {}): Buffer =>
  Buffer.concat(
    (ws as unknown as { Sender: { frame(data: Buffer, options: object): Buffer[] } }).Sender.frame(data, {
      fin: true,
      rsv1: false,
      opcode,
      mask,
      readOnly: false,
    }),
  );

describe('the boundary of frames', () => {
  it('a frame boundary is found in any parts of the stream', () => {
    const payload = fc.record({ size: fc.constantFrom(0, 1, 125, 126, 300, 65_535, 65_536, 70_000), mask: fc.boolean() });
    fc.assert(
      fc.property(fc.array(payload, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(200_000), { maxLength: 5 }), (payloads, cuts) => {
        const frames = payloads.map(({ size, mask }) => frame(Buffer.alloc(size, 0x88), { mask }));
        const stream = Buffer.concat(frames);
        const ends = new Set(frames.map((_, n) => frames.slice(0, n + 1).reduce((sum, { length }) => sum + length, 0)));
        const boundary = new FrameBoundary();
        let from = 0;
        for (const to of [...cuts.filter((cut) => cut < stream.length), stream.length].toSorted((a, b) => a - b)) {
          const end = boundary.pass(stream.subarray(from, to));
          const expected = [...ends].find((each) => each > from && each <= to);
          assert.equal(end === null ? undefined : from + end, expected);
          assert.equal(boundary.isReached, to === 0 || ends.has(to));
          from = to;
        }
        assert.equal(boundary.hasClosed, false);
      }),
      { numRuns: 100 },
    );
  });

  it('a frame boundary says that a close frame has passed, which is written as the library does', () => {
    const boundary = new FrameBoundary();
    const written = closeFrame(1012, 'service_restart');
    assert.deepEqual(written, frame(Buffer.concat([Buffer.from([0x03, 0xf4]), Buffer.from('service_restart')]), { opcode: 8 }));
    assert.equal(boundary.pass(written), written.length);
    assert.deepEqual([boundary.hasClosed, boundary.isReached], [true, true]);
  });
});
