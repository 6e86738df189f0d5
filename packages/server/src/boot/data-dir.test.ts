import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ConfigError } from '../config.ts';
import { openDataDir, unusableDataDir } from './data-dir.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-data-dir-'));
chmodSync(folder, 0o711);
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs as a user without rights: root has all of them. */
function asNobody(work: () => void): void {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    work();
  } finally {
    process.seteuid?.(0);
  }
}

const refuses = (dataDir: string, reason: RegExp): void =>
  assert.throws(
    () => openDataDir(dataDir),
    (error) => {
      assert.ok(error instanceof ConfigError, String(error));
      assert.match(error.message, /^BERTH_DATA_DIR: [^\n]*$/);
      assert.ok(error.message.includes(dataDir));
      assert.match(error.message, reason);
      return true;
    },
  );

describe('the data directory', () => {
  it('the data directory is created with its parents, which others may enter, and left empty', () => {
    const dataDir = join(folder, 'a/b/data');
    openDataDir(dataDir);
    openDataDir(dataDir);
    assert.equal(statSync(dataDir).mode & 0o777, 0o711 & ~process.umask());
    assert.deepEqual(readdirSync(dataDir), []);
  });

  it('the data directory is not a file, nor below one', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    refuses(file, /a part of its path is a file/);
    refuses(join(file, 'data'), /a part of its path is a file/);
  });

  it('the data directory is not below /proc, where Node’s recursive mkdir never returns', () => {
    refuses('/proc/berth/data', /no files can be created there|no rights there/);
    refuses('/proc/self/berth', /no files can be created there|no rights there/);
  });

  it('a data directory that may not be written is refused', () => {
    const dataDir = join(folder, 'read-only');
    openDataDir(dataDir);
    chmodSync(dataDir, 0o555);
    asNobody(() => refuses(dataDir, /no rights there/));
    asNobody(() => refuses(join(dataDir, 'below'), /no rights there/));
  });

  it('the data directory is named for a file in it that cannot be read later', () => {
    const failure = Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/srv/berth/admin-key' });
    const error = unusableDataDir('/srv/berth', failure);
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /^BERTH_DATA_DIR: \/srv\/berth cannot .*\(\/srv\/berth\/admin-key\)/);
    const elsewhere = Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/usr/bin/ffmpeg' });
    assert.equal(unusableDataDir('/srv/berth', elsewhere), elsewhere);
    const other = new Error('no database');
    assert.equal(unusableDataDir('/srv/berth', other), other);
  });
});
