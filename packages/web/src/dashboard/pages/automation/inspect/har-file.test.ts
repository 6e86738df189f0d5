import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHarFile } from './har-file.ts';

const har = (entries: unknown): string => JSON.stringify({ log: { version: '1.2', entries } });
const entry = { request: { method: 'GET', url: 'https://shop.example/?token=secret' } };

test('a HAR file is read, also one that begins with a byte order mark, and its first host is named', async () => {
  for (const text of [har([entry, entry]), `\uFEFF${har([entry, entry])}`]) {
    const file = await readHarFile(new Blob([text]));
    assert.deepEqual(file, { ok: true, text: await new Blob([text]).text(), entries: 2, host: 'shop.example' });
  }
});

test('a file that is no HAR, has no requests, or is too large is refused with what is wrong', async () => {
  const messages: [blob: Pick<Blob, 'size' | 'text'>, expected: RegExp][] = [
    [new Blob(['<html>']), /not a HAR/],
    [new Blob(['null']), /not a HAR/],
    [new Blob([har({})]), /not a HAR/],
    [new Blob([har([])]), /no requests/],
    [{ size: 33 * 1024 * 1024, text: () => Promise.reject(new Error('must not be read')) }, /larger than 32 MB/],
  ];
  for (const [blob, expected] of messages) {
    const file = await readHarFile(blob);
    assert.match(file.ok ? '' : file.message, expected);
  }
});

test('a HAR file is read with entries of any form', async () => {
  const file = await readHarFile(new Blob([har([null, { request: { url: 7 } }])]));
  assert.deepEqual(file.ok && file.host, '');
});
