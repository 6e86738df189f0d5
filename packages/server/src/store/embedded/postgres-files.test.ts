import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openHome } from './postgres-files.ts';

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
});
