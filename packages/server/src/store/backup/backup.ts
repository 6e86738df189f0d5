/**
 * A backup of the embedded database while it runs.
 *
 * The server itself writes it (`BASE_BACKUP`, the command behind pg_basebackup,
 * which the npm package does not have): all files of the cluster with the log
 * that makes them consistent, as of the end of the backup. A temporary
 * replication slot keeps that log until then.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientConfig } from 'pg';
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Log } from '@berth/lib/log.ts';
import { baseName, descriptionName, tar, type Description } from './archive.ts';
import { openEmbedded } from '../embedded/open-embedded.ts';
import { changeOwner, isErrno, removeAbandoned } from '../embedded/postgres-files.ts';
import { connectionAt, findCluster, findRunning, type ClusterFiles } from '../embedded/running.ts';

export interface Backup extends Description {
  bytes: number;
  /** Files of the data directory that it has beside the database: keys, and the identity of the worker. */
  files: string[];
}

export interface BackupOptions {
  dataDir: string;
  /** Must not exist. */
  file: string;
  /** Space that the backup leaves free beside the database. */
  freeBytesMin: number;
  log: Log;
}

/**
 * Writes a backup of the embedded database and of the data directory's small
 * files to `file`, with mode 0600. Starts the database where it does not run.
 *
 * @throws Error, with nothing left at `file`
 */
export async function backUpDatabase({ dataDir, file, freeBytesMin, log }: BackupOptions): Promise<Backup> {
  if (existsSync(file)) throw new Error(`${file} exists. Name a file that does not.`);
  const cluster = findCluster(dataDir);
  if (!cluster) throw new Error(`there is no database in ${dataDir} yet (BERTH_DATA_DIR).`);
  const cleanup = new Cleanup();
  try {
    const running = await findRunning(cluster);
    const connection = running ? connectionAt(running.socketDir) : await openEmbedded({ dataDir, log }, cleanup);
    removeAbandoned(cluster.home);
    // On the disk of the database, where its unprivileged user may write.
    const staging = mkdtempSync(join(cluster.home, 'backup-new-'));
    cleanup.push('staging directory', () => rmSync(staging, { recursive: true, force: true }));
    if (cluster.account) changeOwner(staging, cluster.account);
    const description = await writeBase(connection, { staging, cluster, freeBytesMin });
    writeFileSync(join(staging, descriptionName), JSON.stringify(description));
    const files = smallFilesIn(dataDir);
    await writeArchive(file, [staging, descriptionName, baseName], [dataDir, ...files]);
    return { ...description, files, bytes: statSync(file).size };
  } finally {
    for (const err of await cleanup.run()) log.error({ err }, 'backup cleanup failed');
  }
}

interface BaseOptions {
  staging: string;
  cluster: ClusterFiles;
  freeBytesMin: number;
}

async function writeBase(connection: ClientConfig, { staging, cluster, freeBytesMin }: BaseOptions): Promise<Description> {
  const client = new Client({ ...connection, ...({ replication: 'database' } as object), application_name: 'berth-backup' });
  client.on('error', () => {});
  await client.connect().catch((cause: unknown) => {
    throw isErrno(cause, '53300')
      ? new Error('the database runs since before an update, or two other backups run. Restart the service.', { cause })
      : cause;
  });
  try {
    await assertRoom(client, cluster, freeBytesMin);
    const { rows: versions } = await client.query<{ server_version: string }>('SHOW server_version');
    const { rows: applied } = await client.query<{ name: string }>('SELECT name FROM kysely_migration ORDER BY name');
    const slot = `berth_backup_${randomBytes(6).toString('hex')}`;
    await client.query(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY PHYSICAL RESERVE_WAL`);
    const options = [
      "LABEL 'berth'",
      "TARGET 'server'",
      `TARGET_DETAIL ${client.escapeLiteral(staging)}`,
      "CHECKPOINT 'fast'",
      'WAL true',
      // Nothing archives the log: the backup holds all that it needs.
      'WAIT false',
      // A damaged archive fails its own checksum.
      "MANIFEST 'no'",
      "COMPRESSION 'gzip'",
      "COMPRESSION_DETAIL 'level=1'",
    ];
    await client.query(`BASE_BACKUP (${options.join(', ')})`);
    return {
      format: 1,
      created_at: new Date().toISOString(),
      postgres: versions[0]?.server_version ?? '',
      migrations: applied.map(({ name }) => name),
    };
  } finally {
    await client.end().catch(() => {});
  }
}

/** The database comes first: a backup must not be what fills its disk. */
async function assertRoom(client: Client, { home }: ClusterFiles, freeBytesMin: number): Promise<void> {
  const { rows } = await client.query<{ bytes: string }>('SELECT sum(pg_database_size(oid)) AS bytes FROM pg_database');
  const bytes = Number(rows[0]?.bytes ?? 0);
  const { bavail, bsize } = await statfs(home);
  if (bavail * bsize - bytes >= freeBytesMin) return;
  const megabytes = (count: number): number => Math.ceil(count / 1024 ** 2);
  throw new Error(
    `the disk of the database has ${megabytes(bavail * bsize)} MB free, and a backup needs up to ${megabytes(bytes)} MB ` +
      `beside the ${megabytes(freeBytesMin)} MB that stay free (BERTH_DISK_FREE_MB_MIN).`,
  );
}

/** A key has less; a backup that was written into the data directory has more. */
const smallBytesMax = 64 * 1024;

/** Keys, identities and notes: all that lies in the data directory itself. */
const smallFilesIn = (dataDir: string): string[] =>
  readdirSync(dataDir)
    .filter((name) => /^[a-z][a-z.-]*$/.test(name))
    .filter((name) => {
      const stats = lstatSync(join(dataDir, name));
      return stats.isFile() && stats.size <= smallBytesMax;
    })
    .toSorted();

/** Written aside and linked into place as a whole. Each list is a folder and names in it. */
async function writeArchive(file: string, ...contents: readonly string[][]): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const output = openSync(draft, 'wx', 0o600);
  try {
    const paths = contents.flatMap(([folder = '', ...names]) => (names.length === 0 ? [] : ['-C', folder, ...names]));
    await tar(['--create', '--owner=0', '--group=0', '--numeric-owner', ...paths], output);
    fsyncSync(output);
    linkSync(draft, file);
  } finally {
    closeSync(output);
    rmSync(draft, { force: true });
  }
}
