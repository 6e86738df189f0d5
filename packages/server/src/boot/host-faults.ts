/** What a start says of a host where the service would start and then fail: a small disk, a wrong clock. Each text ends with what to do. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { browserAgeDays, browserAgeDaysMax, type Browser } from '@berth/machines';
import { ConfigError, type Config } from '../config.ts';
import type { DiskState } from '../disk/disk.ts';

const megabyte = 1024 ** 2;
/** A new database takes 40 MB, and its first log as much again. */
const newDatabaseBytes = 80 * megabyte;
/** A file that was written this much later than now was written before the clock was set back. */
const aheadMsMax = 60_000;

/** Before the database is created: half of one is of no use. @throws ConfigError where there is no room for it */
export async function assertRoomForDatabase({ dataDir, databaseUrl }: Config, freeBytes?: number): Promise<void> {
  if (databaseUrl !== null || existsSync(join(dataDir, 'postgres/cluster'))) return;
  const free = freeBytes ?? (await freeBytesOf(dataDir));
  if (free >= newDatabaseBytes) return;
  const note = `${Math.floor(free / megabyte)} MB free, and a new database takes ${newDatabaseBytes / megabyte} MB`;
  throw new ConfigError(`BERTH_DATA_DIR: the disk of ${dataDir} has ${note}. Free some space, or set it to a directory on a larger disk.`);
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export const diskAdvice = ({ dataDir, diskFreeMbMin }: Pick<Config, 'dataDir' | 'diskFreeMbMin'>): string =>
  `Below ${diskFreeMbMin} MB (BERTH_DISK_FREE_MB_MIN) sessions, jobs and files are refused. Free some space, or move ${dataDir} to a larger disk (BERTH_DATA_DIR).`;

/** null: there is enough. */
export function diskWarning(config: Config, { level, freeBytes }: DiskState): string | null {
  if (level === 'ok' || freeBytes === null) return null;
  return `The disk of ${config.dataDir} has ${Math.floor(freeBytes / megabyte)} MB free. ${diskAdvice(config)}`;
}

export const browserAdvice = 'Sites attack what later versions have repaired. Upgrade it, as the host’s other packages.';

/** null: it is new enough. */
export function browserWarning(browser: Browser, nowMs: number): string | null {
  const days = browserAgeDays(browser, nowMs);
  return days > browserAgeDaysMax ? `${browser.version} is ${days} days old. ${browserAdvice}` : null;
}

const dayMs = 86_400_000;
/** Whoever renews certificates by a timer does it before. */
const certificateDaysMin = 14;

/** null: it is valid for longer. */
export function certificateWarning(expiresAt: Date, nowMs: number): string | null {
  const days = Math.floor((expiresAt.getTime() - nowMs) / dayMs);
  if (days >= certificateDaysMin) return null;
  const when = expiresAt.toISOString().slice(0, 10);
  return `${days < 0 ? `expired on ${when}` : `expires on ${when}`}. Renew it; the service reads the new files by itself.`;
}

export const clockAdvice =
  'Certificates, login tokens and links fail until it is right. Set it with timedatectl set-ntp true, or with date --set; in a container or virtual machine, on its host.';

/**
 * What shows that the clock is wrong without asking anybody: a year before that of the time zone rules that Node came with, or files of the
 * service from the future. null: nothing does.
 */
export function clockFault(dataDir: string, nowMs = Date.now()): string | null {
  const now = new Date(nowMs);
  const text = `${now.toISOString().slice(0, 19)}Z`;
  const releaseYear = Number.parseInt(process.versions['tz'] ?? '0', 10);
  if (now.getUTCFullYear() < releaseYear) return `it says ${text}, and this version of Node is of ${releaseYear} or later`;
  const newest = newestFile(dataDir);
  if (newest === null || newest.ms <= nowMs + aheadMsMax) return null;
  return `it says ${text}, and ${newest.path} was written at ${new Date(newest.ms).toISOString().slice(0, 19)}Z`;
}

/** Of those that the service itself writes at the top of its data directory. */
function newestFile(dataDir: string): { path: string; ms: number } | null {
  if (!existsSync(dataDir)) return null;
  const files = readdirSync(dataDir, { withFileTypes: true }).filter((entry) => entry.isFile());
  const stamped = files.flatMap(({ name }) => {
    const path = join(dataDir, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? [{ path, ms: stats.mtimeMs }] : [];
  });
  return stamped.toSorted((one, other) => other.ms - one.ms)[0] ?? null;
}
