/** The directory of the embedded server's Unix socket. */
import { chownSync, lstatSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Account } from './postgres-files.ts';

export interface SocketHome {
  home: string;
  account: Account;
  /** The user that the server runs as. */
  uid: number;
}

/** `sun_path` has 108 bytes including the terminating zero. */
const socketPathBytesMax = 107;
const shortDirPrefix = join(tmpdir(), 'berth-db-');

/**
 * A directory that only the server's user and root can enter. It is next to the
 * cluster unless its path is too long for a socket; then the temporary directory
 * of the last server is reused if it is still owned by the same user.
 */
export function openSocketDir({ home, account }: SocketHome, last: string | undefined): string {
  const beside = join(home, 'socket');
  if (Buffer.byteLength(join(beside, '.s.PGSQL.5432.lock')) <= socketPathBytesMax) {
    mkdirSync(beside, { recursive: true, mode: 0o700 });
    if (account) chownSync(beside, account.uid, account.gid);
    return beside;
  }
  if (last !== undefined && last !== beside) return last;
  const short = mkdtempSync(shortDirPrefix);
  if (account) chownSync(short, account.uid, account.gid);
  return short;
}

/** The directory that a lock file names, if a start made it: the file is not trusted. */
export function ownSocketDir({ home, uid }: SocketHome, named: string | undefined): string | undefined {
  if (named === undefined || named === join(home, 'socket')) return named;
  if (dirname(named) !== dirname(shortDirPrefix) || !named.startsWith(shortDirPrefix)) return undefined;
  const known = lstatSync(named, { throwIfNoEntry: false });
  return known?.isDirectory() && known.uid === uid && (known.mode & 0o077) === 0 ? named : undefined;
}

export function removeShortDir(folder: string): void {
  if (!folder.startsWith(shortDirPrefix)) return;
  try {
    rmdirSync(folder);
  } catch {
    // Not empty, so in use; or already removed.
  }
}
