import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dataOf, replyBytesMax, replyTooLargeCode } from './large-reply.ts';
import { FrameSplitter } from '../pipe.ts';

const session = 'A'.repeat(32);

/** What a client gets of a message that comes in pieces of a pipe. */
function receive(head: string, bytes: number, tail: string): Buffer[] {
  const splitter = new FrameSplitter();
  const frames: Buffer[] = [];
  const push = (chunk: Buffer): void => splitter.push(chunk, (frame) => frames.push(frame));
  push(Buffer.from(head));
  for (let left = bytes; left > 0; left -= 65_536) push(Buffer.alloc(65_536, 'x'));
  for (const byte of tail) push(Buffer.from(byte));
  push(Buffer.from('\0{"id":8,"result":{}}\0'));
  return frames;
}

const errorIn = (frame: Buffer | undefined): { code: number; message: string } =>
  (JSON.parse(String(frame)) as { error: { code: number; message: string } }).error;

describe('a reply of the browser that is too large', () => {
  it('a reply that is too large is an error to whoever asked, and what follows it arrives', () => {
    for (const tail of [`"},"sessionId":"${session}"}`, '"}}', `\\",\\"sessionId\\":\\"${session}\\"}"}}`]) {
      const frames = receive('{"id":7,"result":{"data":"', replyBytesMax + 65_536, tail);
      const reply = JSON.parse(String(frames[0])) as { id: number; sessionId?: string };
      assert.deepEqual([reply.id, reply.sessionId], [7, tail.startsWith('"},') ? session : undefined]);
      assert.equal(errorIn(frames[0]).code, replyTooLargeCode);
      assert.match(errorIn(frames[0]).message, /smaller area.*JPEG.*stream/);
      assert.equal(String(frames[1]), '{"id":8,"result":{}}');
    }
  });

  it('a reply of the largest size arrives, and so does a larger event', () => {
    const head = '{"id":7,"result":{"data":"';
    assert.equal(receive(head, replyBytesMax - 65_536, '"}}')[0]?.length, replyBytesMax - 65_536 + head.length + 3);
    assert.ok((receive('{"method":"Network.dataReceived","params":"', replyBytesMax + 65_536, '"}')[0]?.length ?? 0) > replyBytesMax);
  });
});

describe('the file in a reply', () => {
  it('the file in a reply is its base64, with or without a session', () => {
    for (const tail of [`"},"sessionId":"${session}"}`, '"}}'])
      assert.equal(dataOf(Buffer.from(`{"id":12,"result":{"data":"QUJD${tail}`))?.toString(), 'QUJD');
  });

  it('a reply with more than a file, or an error, has no file', () => {
    for (const text of [
      '{"id":1,"result":{"data":"QUJD","more":1}}',
      '{"id":1,"error":{"message":"data"}}',
      '{"id":1,"result":{"data":"QU',
    ])
      assert.equal(dataOf(Buffer.from(text)), null, text);
  });
});
