import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { factsOf, keyOf } from './digest.ts';
import { listFiles, walk } from './walk.ts';

test('a key is another one when a fact is, when two change places, and when a border moves', () => {
  const keys = [['a', 'b'], ['b', 'a'], ['ab'], ['a', 'c'], ['a', 'b', '']].map(keyOf);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(keyOf(['a', 'b']), keys[0]);
});

test('a source is known by its name and what it says, in whatever order it is named', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'facts-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries({ one: 'x', two: 'y', three: 'x' })) writeFileSync(join(root, name), text);
  assert.equal(keyOf(factsOf(['one', 'two'], root)), keyOf(factsOf(['two', 'one'], root)));
  const before = keyOf(factsOf(['one'], root));
  assert.notEqual(keyOf(factsOf(['three'], root)), before);
  writeFileSync(join(root, 'one'), 'z');
  assert.notEqual(keyOf(factsOf(['one'], root)), before);
});

test('a walk follows no link out of the folder', (t) => {
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
