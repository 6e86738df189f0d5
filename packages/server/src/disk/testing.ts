/** A disk with a size of its own, for the tests of what writes to it. */
import { silentLog } from '../lib/log.ts';
import { Disk, type DiskOptions } from './disk.ts';

const gigabyte = 1024 ** 3;

export interface TestDisk extends Disk {
  /** Free bytes at the next reading. */
  free: number;
}

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
