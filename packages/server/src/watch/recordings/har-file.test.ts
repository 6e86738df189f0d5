import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Har } from 'har-format';
import { toHar } from '../../sessions/drive/drive.ts';
import { writeHar } from './recorder.ts';
import { entryOf, startedAt, tempFolder } from '../../../testing/recordings.ts';

const harOf = (count: number, dropped = 0): Promise<Har> =>
  toHar({ since: startedAt, entries: Array.from({ length: count }, () => entryOf()), dropped }, { title: 'https://shop.test/', startedAt });
const signal = new AbortController().signal;

describe('a HAR file', () => {
  for (const [what, made] of [
    ['no request', harOf(0)],
    ['some requests', harOf(3)],
    ['dropped requests', harOf(2, 5)],
  ] as const)
    it(`a HAR file of a recording is the HAR of the session, with ${what}`, async (test) => {
      const folder = tempFolder((undo) => test.after(undo));
      const har = await made;
      await writeHar(folder, har, { bytesMax: 1_000_000, signal });
      assert.deepEqual(JSON.parse(readFileSync(join(folder, 'har.json'), 'utf8')), har);
    });

  it('a HAR file of a recording is bounded, and says how many entries were omitted', async (test) => {
    const folder = tempFolder((undo) => test.after(undo));
    await writeHar(folder, await harOf(100, 5), { bytesMax: 3000, signal });
    const { log } = JSON.parse(readFileSync(join(folder, 'har.json'), 'utf8')) as Har;
    assert.ok(log.entries.length > 0 && log.entries.length < 10);
    assert.equal(log.comment, `5 requests were dropped. ${100 - log.entries.length} more were omitted to limit the size.`);
  });
});
