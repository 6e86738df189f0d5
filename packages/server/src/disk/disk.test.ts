import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { allocateFile } from '../store/store.ts';
import { Reserve, RetentionBudget } from './disk.ts';
import { createTestDisk } from '../../testing/disk.ts';

const megabyte = 1024 ** 2;
const gigabyte = 1024 ** 3;
const folder = mkdtempSync(join(tmpdir(), 'berth-disk-'));
after(() => rmSync(folder, { recursive: true }));

const cannotAllocate = (): Promise<boolean> => Promise.resolve(false);

describe('the disk', () => {
  it('a disk below the floor lets nothing grow and refuses new sessions, until there is space again', async () => {
    const disk = createTestDisk();
    const account = disk.open('own_a');
    await disk.refresh();
    assert.equal(account.resize(10 * megabyte), true);
    disk.assertRoom();
    disk.free = gigabyte - 1;
    await disk.refresh();
    assert.deepEqual(disk.state, { level: 'low', freeBytes: gigabyte - 1, freeBytesMin: gigabyte });
    assert.equal(account.resize(11 * megabyte), false);
    assert.equal(account.bytes, 10 * megabyte);
    assert.equal(account.resize(5 * megabyte), true);
    assert.throws(
      () => disk.assertRoom(),
      (error) => error instanceof ServiceError && error.code === 'no_capacity' && error.details['reason'] === 'disk_low',
    );
    disk.free = 2 * gigabyte;
    await disk.refresh();
    disk.assertRoom();
    assert.equal(account.resize(11 * megabyte), true);
  });

  it('disk accounting counts growth that the last reading does not show yet', async () => {
    const disk = createTestDisk();
    disk.free = gigabyte + 100 * megabyte;
    await disk.refresh();
    const [one, other] = [disk.open('own_a'), disk.open('own_b')];
    assert.equal(one.resize(40 * megabyte), true);
    assert.equal(other.resize(70 * megabyte), false);
    assert.equal(other.resize(40 * megabyte), true);
    await disk.refresh();
    assert.equal(other.resize(45 * megabyte), true);
  });

  it('the disk gives an owner no more than its quota, and never more than half of what all may take', async () => {
    const disk = createTestDisk({ ownerBytesMax: 50 * megabyte });
    await disk.refresh();
    const [downloads, uploads] = [disk.open('own_a'), disk.open('own_a')];
    assert.equal(downloads.resize(30 * megabyte), true);
    assert.equal(uploads.resize(21 * megabyte), false);
    assert.equal(uploads.resize(20 * megabyte), true);
    assert.equal(disk.bytesOf('own_a'), 50 * megabyte);
    assert.equal(disk.open('own_b').resize(50 * megabyte), true);
    downloads.close();
    assert.equal(disk.bytesOf('own_a'), 20 * megabyte);

    const small = createTestDisk();
    small.free = gigabyte + 100 * megabyte;
    await small.refresh();
    assert.equal(small.open('own_a').resize(51 * megabyte), false);
    assert.equal(small.open('own_a').resize(50 * megabyte), true);
  });

  it('a full disk frees the reserve for the database, and renews it later', async () => {
    const path = join(folder, 'reserve');
    const reserve = new Reserve(path, 3 * megabyte, allocateFile);
    const disk = createTestDisk({ reserve });
    await disk.refresh();
    assert.equal(statSync(path).size, 3 * megabyte);
    assert.ok(statSync(path).blocks * 512 >= 3 * megabyte, 'the space is taken');
    disk.free = 10 * megabyte;
    await disk.refresh();
    assert.equal(existsSync(path), false);
    assert.equal(disk.state.level, 'full');
    disk.free = 80 * megabyte;
    await disk.refresh();
    assert.equal(disk.state.level, 'full', 'what the release has freed is for the database');
    disk.free = 2 * gigabyte;
    await disk.refresh();
    assert.equal(disk.state.level, 'ok');
    assert.equal(statSync(path).size, 3 * megabyte);
  });

  it('the disk keeps a reserve that an earlier start has filled', async () => {
    const path = join(folder, 'earlier');
    writeFileSync(path, 'x'.repeat(1000));
    const { mtimeMs } = statSync(path);
    const reserve = new Reserve(path, 1000, cannotAllocate);
    await reserve.fill();
    assert.equal(reserve.isHeld, true);
    assert.equal(statSync(path).mtimeMs, mtimeMs);
  });

  it('the disk writes a reserve where the file system cannot allocate it', async () => {
    const path = join(folder, 'written');
    await new Reserve(path, 2 * megabyte + 1, cannotAllocate).fill();
    const { size, blocks } = statSync(path);
    assert.equal(size, 2 * megabyte + 1);
    assert.ok(blocks * 512 >= size);
  });

  it('the space of the disk is read from the file system', async () => {
    const disk = createTestDisk({ folders: [folder], readFree: undefined as never });
    await disk.refresh();
    assert.ok((disk.state.freeBytes ?? 0) > 0);
  });
});

describe('what is stored of an owner', () => {
  it('stored files of an owner make room for new ones by deleting the oldest', async () => {
    const disk = createTestDisk();
    const trims: [string, number][] = [];
    const budget = new RetentionBudget(disk, { bytesMax: 100, trim: async (owner, bytes) => void trims.push([owner, bytes]) });
    await budget.add('own_a', 60);
    await budget.add('own_b', 60);
    assert.deepEqual(trims, []);
    await budget.add('own_a', 60);
    assert.deepEqual(trims, [['own_a', 75]]);
    assert.equal(disk.bytesOf('own_a'), 75);
  });
});
