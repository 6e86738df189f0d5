import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { cpioArchive, fileMode, folderMode, programMode } from './files/cpio.ts';
import { ImageError } from './error.ts';
import { dependenciesOf, sortModules } from './kernel-modules.ts';

/** A kernel folder with modules and their dependencies. */
function kernelWith(t: TestContext, modules: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'kernel-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'modules.builtin'), 'kernel/fs/built-in.ko\n');
  for (const [path, depends] of Object.entries(modules)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `\x7fELF\0license=GPL\0depends=${depends}\0name=x\0`);
  }
  return folder;
}

const names = (folder: string, wanted: string[]): string[] => sortModules(folder, wanted).map(({ name }) => name);

test('a kernel module comes after all that it needs, and once', (t) => {
  const folder = kernelWith(t, {
    'kernel/a/virtio-blk.ko': 'virtio_ring,virtio',
    'kernel/b/virtio.ko': 'virtio_ring',
    'kernel/virtio_ring.ko': '',
    'kernel/other.ko': '',
  });
  assert.deepEqual(names(folder, ['virtio_blk', 'virtio']), ['virtio_ring', 'virtio', 'virtio_blk']);
});

test('a built-in kernel module needs no file, and a missing one is an error', (t) => {
  const folder = kernelWith(t, { 'kernel/a.ko': 'built_in' });
  assert.deepEqual(names(folder, ['a']), ['a']);
  assert.throws(
    () => names(folder, ['b']),
    (error) => error instanceof ImageError && /no module b/.test(error.message),
  );
});

test('a kernel module without a depends field has no dependencies', () => {
  assert.deepEqual(dependenciesOf(Buffer.from('depends on nobody')), []);
  assert.deepEqual(dependenciesOf(Buffer.from('\0depends=\0')), []);
});

test('the first file system of a machine is one that cpio reads, and the same for the same files', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cpio-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const entries = [
    { path: 'bin', mode: folderMode, data: Buffer.alloc(0) },
    { path: 'bin/run', mode: programMode, data: Buffer.from('#!/bin/sh\n') },
    { path: 'odd-length', mode: fileMode, data: Buffer.from('abcde') },
  ];
  const archive = cpioArchive(entries);
  assert.deepEqual(cpioArchive(entries), archive);
  const { status, error } = spawnSync('cpio', ['--extract', '--quiet'], { cwd: folder, input: archive });
  if (error) return t.skip('there is no cpio here');
  assert.equal(status, 0);
  assert.equal(statSync(join(folder, 'bin/run')).mode, programMode);
  assert.equal(statSync(join(folder, 'odd-length')).size, 5);
});
