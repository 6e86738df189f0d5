import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ImageFolder, linkFile } from './image-folder.ts';

function folderOf(t: TestContext): ImageFolder {
  const path = mkdtempSync(join(tmpdir(), 'images-'));
  t.after(() => rmSync(path, { recursive: true }));
  return new ImageFolder(path);
}

/** Creates an image in the temporary folder, as a build does, and publishes it. */
function publish(folder: ImageFolder, id: string, key = id): void {
  const aside = join(folder.asidePath, 'image');
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, 'kernel'), 'kernel', { mode: 0o600 });
  writeFileSync(join(aside, 'image.json'), JSON.stringify({ id, created_at: id }));
  writeFileSync(join(aside, 'layers.json'), JSON.stringify({ boot: { key, files: { kernel: { bytes: 6, sha256: '' } } } }));
  writeFileSync(join(aside, 'sbom.json'), '{}');
  folder.publish(aside, id);
}

test('machines start from the image that was published last, and may read it', (t) => {
  const folder = folderOf(t);
  assert.equal(folder.current(), null);
  for (const id of ['a', 'b']) publish(folder, id);
  assert.equal(folder.current()?.manifest.id, 'b');
  assert.equal(readlinkSync(join(folder.path, 'current')), 'b');
  assert.equal(statSync(join(folder.path, 'b/kernel')).mode & 0o777, 0o644);
});

test('the image before the current one stays, and older ones go', (t) => {
  const folder = folderOf(t);
  for (const id of ['a', 'b', 'c']) publish(folder, id);
  assert.deepEqual(folder.prune(), ['a']);
  assert.deepEqual(
    folder.images().map(({ manifest }) => manifest.id),
    ['c', 'b'],
  );
});

test('going back to an earlier image keeps the one that was left', (t) => {
  const folder = folderOf(t);
  for (const id of ['a', 'b', 'c', 'a']) publish(folder, id);
  assert.deepEqual(folder.prune(), ['b']);
  assert.deepEqual(
    folder.images().map(({ manifest }) => manifest.id),
    ['c', 'a'],
  );
  assert.equal(folder.current()?.manifest.id, 'a');
});

test('an image with the same content gets the keys of its last build', (t) => {
  const folder = folderOf(t);
  publish(folder, 'a', 'old');
  const { ino } = statSync(join(folder.path, 'a/kernel'));
  publish(folder, 'a', 'new');
  assert.equal(folder.current()?.layers.boot.key, 'new');
  assert.equal(statSync(join(folder.path, 'a/kernel')).ino, ino);
});

test('an image with a truncated file is ignored, and building it again repairs it', (t) => {
  const folder = folderOf(t);
  publish(folder, 'a');
  truncateSync(join(folder.path, 'a/kernel'), 3);
  assert.deepEqual([folder.current(), folder.images()], [null, []]);
  publish(folder, 'a');
  assert.equal(folder.current()?.manifest.id, 'a');
});

test('leftovers of an aborted build are no image, and are removed', async (t) => {
  const folder = folderOf(t);
  mkdirSync(join(folder.asidePath, 'image/deep'), { recursive: true });
  mkdirSync(join(folder.path, 'somebody-elses'));
  assert.deepEqual(folder.images(), []);
  await folder.clearAside();
  assert.ok(!existsSync(folder.asidePath));
  assert.deepEqual(readdirSync(folder.path), ['somebody-elses']);
});

test('an image outlives another that it shares a file with', (t) => {
  const folder = folderOf(t);
  publish(folder, 'a');
  const shared = join(folder.path, 'shared');
  linkFile(join(folder.path, 'a/kernel'), shared);
  rmSync(join(folder.path, 'a'), { recursive: true });
  assert.equal(statSync(shared).size, 6);
});
