/** The data directory: created at the first start, and checked before anything relies on it. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../config.ts';
import { newId } from '@berth/lib/ids.ts';
import { readOrCreateSecret } from '@berth/lib/secrets/secret-file.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no rights there',
  EPERM: 'this user has no rights there',
  EROFS: 'its file system is read-only',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'a part of its path is a file',
  ENOENT: 'no files can be created there',
  ELOOP: 'its path has too many links',
  ENAMETOOLONG: 'its path is too long',
};
const probeName = '.probe-';
/** A full disk is no fault of the directory, and has rules of its own. */
const fullDisk = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Creates the directory with its parents and writes to it. Returns whether it is new.
 *
 * @throws ConfigError with one line
 */
export function openDataDir(dataDir: string): boolean {
  const isNew = !existsSync(dataDir);
  try {
    makeFolder(dataDir);
    const probe = join(dataDir, `${probeName}${process.pid}`);
    writeFileSync(probe, '', { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    if (!fullDisk.has(codeOf(error))) throw unusableDataDir(dataDir, error);
  }
  return isNew;
}

/** The id of the worker with this data directory, which outlives its process. */
export const readWorkerId = (dataDir: string): string => readOrCreateSecret(join(dataDir, 'worker-id'), () => newId('wrk')).secret;

/** One line for a failure of a file in the data directory; the error itself for any other. */
export function unusableDataDir(dataDir: string, error: unknown): unknown {
  const path = error instanceof Error && 'path' in error ? String(error.path) : '';
  const reason = reasons[codeOf(error)];
  const isInside = path.startsWith(`${dataDir}/`);
  if (reason === undefined || path === '' || !(isInside || dataDir.startsWith(path))) return error;
  const at = isInside && !path.includes(probeName) ? ` (${path})` : '';
  const what = `${dataDir} cannot be the data directory: ${reason}${at}`;
  return new ConfigError(`BERTH_DATA_DIR: ${what}. Set it to a directory that this user may write.`, { cause: error });
}

/** One level at a time: Node's recursive `mkdir` never returns for a path below `/proc`. */
function makeFolder(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return;
  if (stats) throw Object.assign(new Error(`${path} is a file`), { code: 'ENOTDIR', path });
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o711 });
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
