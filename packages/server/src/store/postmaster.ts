/** What a PostgreSQL server tells of itself in the `postmaster.pid` of its cluster. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { isErrno } from './postgres-files.ts';

export interface Postmaster {
  pid: number;
  socketDir: string;
  ready: boolean;
}

/** The server that wrote the file last: it may be long dead. `undefined` when there is no whole file. */
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

/** Whether the process runs: one that has died and waits for its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isUnreaped(pid);
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

/** Whether the process has died and its parent has not asked for it yet. */
function isUnreaped(pid: number): boolean {
  try {
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/**
 * Lets a server start after one that was killed and that nobody reaps, as in a
 * container without an init: to PostgreSQL it lives for ever. PostgreSQL takes
 * a lock file that names its own parent for a stale one and then still looks for
 * children that have outlived the dead server, which removing the file would
 * keep it from doing.
 */
export function disownDead(cluster: string): void {
  const found = readPostmaster(cluster);
  if (!found || !isUnreaped(found.pid)) return;
  for (const file of [join(cluster, 'postmaster.pid'), join(found.socketDir, '.s.PGSQL.5432.lock')]) {
    if (existsSync(file)) writeFileSync(file, readFileSync(file, 'utf8').replace(`${found.pid}\n`, `${process.pid}\n`));
  }
}

/** Whether a living server of this very cluster answers there: a number alone proves nothing, numbers are given out again. */
export async function answers(postmaster: Postmaster, cluster: string): Promise<boolean> {
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
