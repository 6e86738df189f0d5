import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openBytes, sealBytes } from './sealed-bytes.ts';

const secret = Buffer.alloc(32, 7);
const bytes = Buffer.from('{"password":"hunter2 \u0000"}');

describe('sealed bytes', () => {
  it('sealed bytes are read with the secret, and show nothing to others', async () => {
    const sealed = await sealBytes(secret, 'job', bytes);
    assert.deepEqual(await openBytes(secret, 'job', sealed), bytes);
    assert.equal(sealed.includes('hunter2') || sealed.includes(bytes.toString('base64url')), false);
  });

  it('sealed bytes are refused under another secret, for another purpose, or changed', async () => {
    const sealed = await sealBytes(secret, 'job', bytes);
    assert.equal(await openBytes(Buffer.alloc(32, 8), 'job', sealed), null);
    assert.equal(await openBytes(secret, 'other', sealed), null);
    const changed = Buffer.from(sealed);
    changed[changed.length - 30] = changed[changed.length - 30] === 65 ? 66 : 65;
    assert.equal(await openBytes(secret, 'job', changed), null);
    assert.equal(await openBytes(secret, 'job', Buffer.from('x')), null);
  });
});
