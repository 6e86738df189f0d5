/** Reads `postmaster.pid`, the lock file of a PostgreSQL cluster. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { isErrno } from './postgres-files.ts';

interface Postmaster {
  pid: number;
  socketDir: string;
  ready: boolean;
}

/** The server that wrote the file last; it may have exited. `undefined` without a complete file. */
export function readPostmaster(cluster: string): Postmaster | undefined {
  try {
    const [pid, , , , socketDir, , , status] = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    if (!pid || !socketDir) return undefined;
    return { pid: Number(pid), socketDir, ready: status?.trim() === 'ready' };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Whether the process runs. A zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isUnreaped(pid);
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

/** Whether the process is a zombie. */
function isUnreaped(pid: number): boolean {
  try {
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/**
 * Lets a server start after one that was killed and became a zombie, as in a
 * container without an init: to PostgreSQL that one still runs. PostgreSQL
 * treats a lock file that names its own parent as stale, and still checks for
 * surviving children of the dead server. Deleting the file would skip that check.
 */
export function takeOverStaleLock(cluster: string): void {
  const postmaster = readPostmaster(cluster);
  if (!postmaster || !isUnreaped(postmaster.pid)) return;
  for (const file of [join(cluster, 'postmaster.pid'), join(postmaster.socketDir, '.s.PGSQL.5432.lock')]) {
    if (existsSync(file)) writeFileSync(file, readFileSync(file, 'utf8').replace(`${postmaster.pid}\n`, `${process.pid}\n`));
  }
}

/** Whether a server of this cluster responds. The process id alone is no proof, because ids are reused. */
export async function isResponding(postmaster: Postmaster, cluster: string): Promise<boolean> {
  if (!postmaster.ready || !isAlive(postmaster.pid)) return false;
  const client = new Client({
    host: postmaster.socketDir,
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
