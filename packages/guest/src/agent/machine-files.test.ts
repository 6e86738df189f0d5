import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { MachineFiles, NoSuchFileError } from './machine-files.ts';

const root = mkdtempSync(join(tmpdir(), 'berth-files-'));
after(() => rmSync(root, { recursive: true }));
const [downloads, uploads] = [join(root, 'downloads'), join(root, 'uploads')];
mkdirSync(downloads);
mkdirSync(uploads);
const files = new MachineFiles({ downloads, uploads, uploadsInside: uploads });

describe('an upload', () => {
  it('an upload into a machine may have a name of 255 bytes, and no longer one', async () => {
    const path = await files.put('file_1', `${'é'.repeat(127)}x`, Buffer.from('hello'));
    assert.equal(readFileSync(path, 'utf8'), 'hello');
    await assert.rejects(files.put('file_2', 'é'.repeat(128), Buffer.from('hello')), NoSuchFileError);
    assert.deepEqual(readdirSync(uploads), ['file_1']);
  });

  it('an upload into a machine leaves nothing behind when it fails', async () => {
    const failing = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('half');
      await Promise.reject(new Error('cut off'));
    };
    await assert.rejects(files.put('file_3', 'half.txt', failing()), /cut off/);
    assert.deepEqual(readdirSync(uploads), ['file_1']);
  });
});
