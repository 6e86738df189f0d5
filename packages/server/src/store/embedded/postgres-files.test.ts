import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { copyNative, openHome } from './postgres-files.ts';

describe('the folder of the database', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-postgres-files-'));
    chmodSync(folder, 0o711);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('the folder of the database can be entered by the user of the database also where the umask closes new folders', () => {
    const umask = process.umask(0o077);
    try {
      const home = openHome(join(folder, 'data'), { uid: 60_754, gid: 60_754 });
      assert.equal(statSync(home).mode & 0o077, 0o001);
    } finally {
      process.umask(umask);
    }
  });

  it('a copy of the binaries has all its libraries itself, whether or not the install script of their package has linked them', () => {
    const native = join(folder, 'native');
    mkdirSync(join(native, 'lib'), { recursive: true });
    for (const name of ['libone.so.1.2', 'libtwo.so.1.2']) writeFileSync(join(native, 'lib', name), '');
    symlinkSync('libone.so.1.2', join(native, 'lib/libone.so.1'));
    const links = ['one', 'two'].map((name) => ({ source: `native/lib/lib${name}.so.1.2`, target: `native/lib/lib${name}.so.1` }));
    writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links));
    copyNative(native, join(folder, 'copy'));
    for (const name of ['one', 'two']) assert.equal(readlinkSync(join(folder, `copy/lib/lib${name}.so.1`)), `lib${name}.so.1.2`);
  });
});
