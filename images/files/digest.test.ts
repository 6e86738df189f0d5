import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fingerprintsOf, hashOf } from './digest.ts';
import { listFiles, walk } from './walk.ts';

test('the digest of a key changes with any part, with the order, and with boundaries', () => {
  const keys = [['a', 'b'], ['b', 'a'], ['ab'], ['a', 'c'], ['a', 'b', '']].map(hashOf);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(hashOf(['a', 'b']), keys[0]);
});

test('the fingerprint of files depends on names and contents, not on the order of names', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'digest-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries({ one: 'x', two: 'y', three: 'x' })) writeFileSync(join(root, name), text);
  assert.equal(hashOf(fingerprintsOf(['one', 'two'], root)), hashOf(fingerprintsOf(['two', 'one'], root)));
  const before = hashOf(fingerprintsOf(['one'], root));
  assert.notEqual(hashOf(fingerprintsOf(['three'], root)), before);
  writeFileSync(join(root, 'one'), 'z');
  assert.notEqual(hashOf(fingerprintsOf(['one'], root)), before);
});

test('a walk for a fingerprint follows no link out of the folder', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'walk-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'b/c'), { recursive: true });
  for (const path of ['b/c/file', 'b/a', 'z']) writeFileSync(join(root, path), '');
  symlinkSync('/', join(root, 'b/host'));
  assert.deepEqual(
    [...walk(root)].map(({ path }) => path),
    ['b', 'b/a', 'b/c', 'b/c/file', 'b/host', 'z'],
  );
  assert.deepEqual(listFiles(root), ['b/a', 'b/c/file', 'z']);
});
