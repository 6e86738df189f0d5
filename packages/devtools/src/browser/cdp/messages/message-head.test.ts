import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isTargetEvent, sessionOf, withoutSession } from '../connection.ts';
import { FrameSplitter, FrameTooLongError } from '../pipe.ts';

const sessionId = fc.string({ unit: fc.constantFrom(...'0123456789ABCDEF'), minLength: 32, maxLength: 32 });
const hostile = fc.oneof(
  fc.json(),
  fc.constantFrom(
    '"sessionId":"',
    ',"sessionId":"0123456789ABCDEF0123456789ABCDEF"}',
    '","sessionId":"0123456789ABCDEF0123456789ABCDEF',
    '\\',
    '}',
    '😀',
  ),
  sessionId.map((id) => `,"sessionId":"${id}"}`),
);
const payload = fc.oneof(
  hostile,
  fc.record({ sessionId: hostile, a: hostile }),
  sessionId.map((id) => ({ sessionId: id })),
  fc.jsonValue(),
);

describe('the session of a message', () => {
  it('the session of a message is read from its end, whatever it contains', () => {
    fc.assert(
      fc.property(payload, sessionId, fc.boolean(), (body, id, isReply) => {
        const message = isReply ? { id: 1, result: body } : { method: 'X.y', params: body };
        assert.equal(sessionOf(Buffer.from(JSON.stringify({ ...message, sessionId: id }))), id);
        assert.equal(sessionOf(Buffer.from(JSON.stringify(message))), undefined);
        assert.deepEqual(
          JSON.parse(withoutSession(Buffer.from(JSON.stringify({ ...message, sessionId: id }))).toString()),
          JSON.parse(JSON.stringify(message)),
        );
      }),
    );
  });

  it('the session of a message is not read from too few bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => assert.equal(sessionOf(Buffer.from(bytes)), undefined)));
  });

  it('target events are recognized by their first bytes', () => {
    assert.equal(isTargetEvent(Buffer.from('{"method":"Target.attachedToTarget"}')), true);
    assert.equal(isTargetEvent(Buffer.from('{"method":"Tracing.x"}')), false);
    assert.equal(isTargetEvent(Buffer.from('{"id":1}')), false);
  });
});

describe('the splitter', () => {
  it('the splitter gives the same messages however the bytes are cut', () => {
    // Texts with what ends objects and texts, and bytes of several for a character.
    const text = fc.string({ unit: fc.constantFrom('{', '}', '"', '\\', ',', 'é', '😀'), maxLength: 8 });
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.array(tie('any'), { maxLength: 3 }), tie('object')),
      object: fc.dictionary(text, tie('any'), { maxKeys: 3 }),
    })).object;
    const message = value.map((object) => Buffer.from(JSON.stringify(object)));
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (messages, sizes) => {
        const stream = Buffer.concat(messages.flatMap((each) => [each, Buffer.from([0])]));
        const splitter = new FrameSplitter();
        const received: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          splitter.push(stream.subarray(at, at + size), (frame) => received.push(Buffer.from(frame)));
          at += size;
        }
        assert.deepEqual(received, messages);
      }),
    );
  });

  it('the splitter gives a message before its NUL, which Chromium writes apart', () => {
    const splitter = new FrameSplitter();
    const received: string[] = [];
    const push = (text: string): void => splitter.push(Buffer.from(text), (frame) => received.push(frame.toString()));
    push('{"id":1,"result":{"value":"}"}}');
    assert.deepEqual(received, ['{"id":1,"result":{"value":"}"}}']);
    push('\0{"id":2,"result":{}}\0');
    assert.deepEqual(received.slice(1), ['{"id":2,"result":{}}']);
  });

  it('the splitter waits for the rest of a message that a page has made to look whole where it is cut', () => {
    const splitter = new FrameSplitter();
    const received: string[] = [];
    const inner = `"sessionId":"${'A'.repeat(32)}"}`;
    for (const part of [`{"id":1,"result":{"value":{"a":1,${inner}`, `},"text":"{}`, `","sessionId":"${'B'.repeat(32)}"}`])
      splitter.push(Buffer.from(part), (frame) => received.push(frame.toString()));
    assert.equal(received.length, 0);
    splitter.push(Buffer.from([0]), (frame) => received.push(frame.toString()));
    assert.equal(received.length, 1);
  });

  it('the splitter refuses a message without an end before it fills the memory', () => {
    const splitter = new FrameSplitter(1000);
    splitter.push(Buffer.alloc(900, 1), () => {});
    assert.throws(() => splitter.push(Buffer.alloc(200, 1), () => {}), FrameTooLongError);
  });

  it('the splitter refuses a message that comes byte by byte by what it costs to hold', () => {
    const splitter = new FrameSplitter(64 * 1024);
    assert.throws(() => {
      for (let count = 0; count < 100; count += 1) splitter.push(Buffer.from([1]), () => {});
    }, FrameTooLongError);
  });

  it('the splitter joins megabytes that came in small pieces in linear time', () => {
    const splitter = new FrameSplitter();
    const piece = Buffer.alloc(4096, 1);
    let length = 0;
    for (let count = 0; count < 16_384; count += 1) splitter.push(piece, () => {});
    splitter.push(Buffer.from([0]), (frame) => (length = frame.length));
    assert.equal(length, 64 * 1024 * 1024);
  });
});
