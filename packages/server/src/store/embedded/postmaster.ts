/**
 * Reads `postmaster.pid`, the lock file of a PostgreSQL cluster, and identifies
 * the server that it names.
 *
 * The file belongs to the database's unprivileged user, and this process may be
 * root. So nothing in it is trusted: links are not followed, a process counts as
 * the server only by what the kernel says about it, and only files of that user
 * are written to.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { isErrno } from './postgres-files.ts';

interface Postmaster {
  pid: number;
  socketDir: string;
  ready: boolean;
}

/** A process that is not mistaken for another one when its id is reused. */
export interface ServerProcess {
  pid: number;
  /** Clock ticks since boot. */
  startTime: string;
}

/** Identifies a server: its user, and its data directory without symbolic links. */
export interface Cluster {
  cluster: string;
  uid: number;
}

/** The file has eight short lines. */
const lockBytesMax = 8 * 1024;

/** The server that wrote the file last; it may have exited. `undefined` without a complete file. */
export function readPostmaster(cluster: string): Postmaster | undefined {
  const file = openLock(join(cluster, 'postmaster.pid'), constants.O_RDONLY);
  if (file === undefined) return undefined;
  try {
    const [pid = '', , , , socketDir, , , status] = readLock(file).split('\n');
    // A negative number is a process group, or with -1 every process of the host.
    if (!/^[1-9]\d{0,9}$/.test(pid) || !socketDir) return undefined;
    return { pid: Number(pid), socketDir, ready: status?.trim() === 'ready' };
  } finally {
    closeSync(file);
  }
}

/** A lock file that is a regular file with one name; `undefined` for anything else. */
function openLock(path: string, flags: number): number | undefined {
  let file: number;
  try {
    file = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'].some((code) => isErrno(error, code))) return undefined;
    throw error;
  }
  const { nlink } = fstatSync(file);
  if (fstatSync(file).isFile() && nlink === 1) return file;
  closeSync(file);
  return undefined;
}

function readLock(file: number): string {
  const bytes = Buffer.alloc(lockBytesMax);
  return bytes.toString('utf8', 0, readSync(file, bytes, 0, lockBytesMax, 0));
}

interface ProcessState {
  startTime: string;
  isZombie: boolean;
}

function stateOf(pid: number): ProcessState | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in brackets, and may hold spaces and brackets itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { startTime: fields[19] ?? '', isZombie: fields[0] === 'Z' };
  } catch {
    return undefined;
  }
}

/** `undefined` when there is no such process. */
export function processWith(pid: number): ServerProcess | undefined {
  const state = stateOf(pid);
  return state && { pid, startTime: state.startTime };
}

/** Whether the process runs. A zombie does not, nor does another one with the same id. */
export function isAlive({ pid, startTime }: ServerProcess): boolean {
  const state = stateOf(pid);
  return state !== undefined && state.startTime === startTime && !state.isZombie;
}

/** The process, if it is a PostgreSQL server of this user in this data directory. */
export function identifyServer(pid: number, { cluster, uid }: Cluster): ServerProcess | undefined {
  try {
    const server = processWith(pid);
    const isServer =
      statSync(`/proc/${pid}`).uid === uid &&
      /\/postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`)) &&
      readlinkSync(`/proc/${pid}/cwd`) === cluster;
    return server && isServer && isAlive(server) ? server : undefined;
  } catch {
    // It has exited, or belongs to another user.
    return undefined;
  }
}

/**
 * Lets a server start after one that was killed and became a zombie, as in a
 * container without an init: to PostgreSQL that one still runs. PostgreSQL
 * treats a lock file that names its own parent as stale, and still checks for
 * surviving children of the dead server. Deleting the file would skip that check.
 */
export function takeOverStaleLock({ cluster, uid }: Cluster, socketDir: string | undefined): void {
  const postmaster = readPostmaster(cluster);
  if (!postmaster || stateOf(postmaster.pid)?.isZombie !== true) return;
  const files = [join(cluster, 'postmaster.pid'), ...(socketDir === undefined ? [] : [join(socketDir, '.s.PGSQL.5432.lock')])];
  for (const path of files) {
    const file = openLock(path, constants.O_RDWR);
    if (file === undefined) continue;
    try {
      if (fstatSync(file).uid !== uid) continue;
      const text = readLock(file).replace(`${postmaster.pid}\n`, `${process.pid}\n`);
      ftruncateSync(file);
      writeSync(file, text, 0);
    } finally {
      closeSync(file);
    }
  }
}

/** Whether a server of this cluster responds. */
export async function isResponding(socketDir: string, cluster: string): Promise<boolean> {
  const client = new Client({
    host: socketDir,
    user: 'berth',
    database: 'postgres',
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    return rows[0]?.data_directory === cluster;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
