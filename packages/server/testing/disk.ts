/** Disks for the tests of what writes to them. */
import { silentLog } from '@berth/lib/log.ts';
import { Disk, type DiskOptions } from '../src/disk/disk.ts';

const gigabyte = 1024 ** 3;

export interface TestDisk extends Disk {
  /** Free bytes at the next reading. */
  free: number;
}

/** Creates a disk whose free space a test sets. */
export function createTestDisk(options: Partial<DiskOptions> = {}): TestDisk {
  const shown = { free: 100 * gigabyte };
  const disk = new Disk({
    folders: ['/'],
    freeBytesMin: gigabyte,
    ownerBytesMax: 10 * gigabyte,
    downloadBytesMax: gigabyte,
    reserve: null,
    log: silentLog,
    readFree: () => Promise.resolve(shown.free),
    ...options,
  });
  return Object.defineProperty(disk as TestDisk, 'free', {
    get: () => shown.free,
    set: (bytes: number) => {
      shown.free = bytes;
    },
  });
}

/** Counts and never refuses. */
export const createUnlimitedDisk = (): Disk =>
  new Disk({
    folders: [],
    freeBytesMin: 0,
    ownerBytesMax: Infinity,
    downloadBytesMax: Infinity,
    reserve: null,
    log: silentLog,
  });
