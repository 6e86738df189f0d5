import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ConfigError, readConfig } from '../config.ts';
import { assertRoomForDatabase, clockFault, diskWarning } from './host-faults.ts';

const megabyte = 1024 ** 2;

describe('what a start says of its host', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-host-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const config = readConfig({}, { BERTH_DATA_DIR: folder });

  it('a start refuses a disk without room for a new database, and takes it where the database exists or is elsewhere', async () => {
    await assertRoomForDatabase(config, 80 * megabyte);
    await assert.rejects(
      assertRoomForDatabase(config, 20 * megabyte),
      (error) =>
        error instanceof ConfigError && /^BERTH_DATA_DIR: the disk of \S+ has 20 MB free, and .*80 MB\. Free some/.test(error.message),
    );
    const external = readConfig({}, { BERTH_DATA_DIR: folder, BERTH_DATABASE_URL: 'postgres://127.0.0.1/berth' });
    await assertRoomForDatabase(external, 0);
    mkdirSync(join(folder, 'postgres/cluster'), { recursive: true });
    await assertRoomForDatabase(config, 0);
  });

  it('a start warns of a disk below the space that sessions need, and of no other', () => {
    const state = { freeBytes: 100 * megabyte, freeBytesMin: 1024 * megabyte };
    assert.equal(diskWarning(config, { ...state, level: 'ok' }), null);
    assert.match(diskWarning(config, { ...state, level: 'low' }) ?? '', /has 100 MB free\. Below 1024 MB .*Free some space/);
  });

  it('a clock before the year of this Node, or before the last file of the service, is a fault', () => {
    assert.equal(clockFault(folder), null);
    assert.equal(clockFault(join(folder, 'missing')), null);
    assert.match(clockFault(folder, Date.parse('2001-09-09T01:46:40Z')) ?? '', /^it says 2001-09-09T01:46:40Z, and this version of Node/);
    const file = join(folder, 'worker-id');
    writeFileSync(file, '');
    const written = new Date(Date.now() + 3_600_000);
    utimesSync(file, written, written);
    assert.match(clockFault(folder) ?? '', /^it says \S+Z, and \S+\/worker-id was written at /);
    assert.equal(clockFault(folder, written.getTime() - 30_000), null);
  });
});
