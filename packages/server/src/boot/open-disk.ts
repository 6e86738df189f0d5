/** Builds the accountant of this worker's disk from the configuration. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { Disk, Reserve } from '../disk/disk.ts';
import type { Log } from '@berth/lib/log.ts';
import { allocateFile } from '../store/store.ts';

const megabyte = 1024 ** 2;

/**
 * The embedded database may be on another file system than the data directory, and has a reserve of its own. Without it
 * the disk can only be read.
 */
export function openDisk(config: Config, log: Log, { hasReserve = true } = {}): Disk {
  const { dataDir, databaseUrl, diskReserveMb, diskFreeMbMin, diskOwnerMbMax, downloadsMbMax } = config;
  const entry = join(dataDir, 'postgres');
  const database = databaseUrl === null && existsSync(entry) ? realpathSync(entry) : null;
  return new Disk({
    folders: [dataDir, ...(database === null ? [] : [database])],
    freeBytesMin: diskFreeMbMin * megabyte,
    ownerBytesMax: diskOwnerMbMax * megabyte,
    downloadBytesMax: downloadsMbMax * megabyte,
    reserve:
      database === null || diskReserveMb === 0 || !hasReserve
        ? null
        : new Reserve(join(database, 'reserve'), diskReserveMb * megabyte, allocateFile),
    log,
  });
}
