import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { liveViewBounds, type LiveViewMessage } from '@berth/contract/live-view';
import type { LiveSession, Machine } from '../../../sessions/sessions/sessions.ts';
import { Uploads } from './live-view-uploads.ts';

function createUploads() {
  const stored: [name: string, text: string][] = [];
  const sent: LiveViewMessage[] = [];
  const put = (_: Machine, name: string, data: Buffer): Promise<{ fileId: string }> => {
    stored.push([name, data.toString()]);
    return Promise.resolve({ fileId: `file_${stored.length}` });
  };
  const session = { uploads: { put } } as unknown as LiveSession;
  const uploads = new Uploads({ session, machine: {} as Machine, sendMessage: (message) => void sent.push(message) });
  const part = (upload: number, text: string | Buffer, isLast = false, name = 'a.txt'): Promise<void> =>
    uploads.receive({ type: 'upload', upload, name, data: Buffer.from(text).toString('base64'), is_last: isLast });
  return { stored, sent, part };
}

describe('files of a viewer', () => {
  it('files of a viewer are put together from their parts, one after another', async () => {
    const { stored, sent, part } = createUploads();
    await part(1, 'one ');
    await part(1, 'file', true);
    await part(2, '', true, 'empty.txt');
    assert.deepEqual(stored, [
      ['a.txt', 'one file'],
      ['empty.txt', ''],
    ]);
    assert.deepEqual(sent, [
      { type: 'uploaded', upload: 1, file_id: 'file_1' },
      { type: 'uploaded', upload: 2, file_id: 'file_2' },
    ]);
  });

  it('files of a viewer are dropped when the next one begins', async () => {
    const { stored, part } = createUploads();
    await part(1, 'never ends');
    await part(2, 'ends', true);
    assert.deepEqual(stored, [['a.txt', 'ends']]);
  });

  it('files of a viewer are refused once, at the part that is too much, and for a name that is too long', async () => {
    const { stored, part } = createUploads();
    const half = Buffer.alloc(liveViewBounds.uploadBytes / 2 + 1);
    await part(1, half);
    await assert.rejects(part(1, half), { code: 'bad_request' });
    await part(1, half, true);
    await assert.rejects(part(2, 'x', true, 'ü'.repeat(128)), { code: 'bad_request' });
    assert.deepEqual(stored, []);
    await part(3, half, true);
    assert.equal(stored.length, 1);
  });
});
