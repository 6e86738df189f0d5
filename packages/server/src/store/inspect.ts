/** The state of a database, read without changing it. */
import { Client, type ClientConfig } from 'pg';
import { DatabaseUnusableError } from './errors.ts';
import { assertUsable } from './migrate.ts';
import { assertMajor, packageVersion } from './embedded/postgres-files.ts';
import { connectionAt, findCluster, findRunning } from './embedded/running.ts';

export interface DatabaseState {
  /** `new`: the first start creates it. */
  state: 'new' | 'stopped' | 'running' | 'external';
  /** Version of PostgreSQL. */
  version: string;
  /** Migrations that are applied; null where the database is not running. */
  migrations: number | null;
  /** Milliseconds by which the clock of its server is ahead of this host's; null where it is not running. */
  aheadMs: number | null;
  /** Whether profiles are stored that only `profile-key` of a data directory opens; null where it is not running. */
  needsProfileKey: boolean | null;
}

/** Such as `18.4.0`. */
const embeddedVersion = (): string => packageVersion().split('-', 1)[0] ?? '';

const connectMs = 5_000;

/** @throws DatabaseUnusableError; NewerDatabaseError; Error for files of another version of PostgreSQL */
export async function inspectDatabase({ databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string }): Promise<DatabaseState> {
  if (databaseUrl !== null) {
    return await read({ connectionString: databaseUrl }, 'external').catch((cause: unknown) => {
      throw cause instanceof Error && cause.name === 'NewerDatabaseError' ? cause : new DatabaseUnusableError(databaseUrl, cause);
    });
  }
  const cluster = findCluster(dataDir);
  if (!cluster) return { state: 'new', version: embeddedVersion(), migrations: null, aheadMs: null, needsProfileKey: false };
  assertMajor(cluster.cluster);
  const running = await findRunning(cluster);
  if (running) return read(connectionAt(running.socketDir), 'running');
  return { state: 'stopped', version: embeddedVersion(), migrations: null, aheadMs: null, needsProfileKey: null };
}

async function read(connection: ClientConfig, state: 'running' | 'external'): Promise<DatabaseState> {
  const client = new Client({
    ...connection,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
    application_name: 'berth-doctor',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const askedMs = Date.now();
    const { rows } = await client.query<{ version: string; now: Date; migrated: boolean }>(
      `SELECT current_setting('server_version') AS version, clock_timestamp() AS now, to_regclass('kysely_migration') IS NOT NULL AS migrated`,
    );
    const [row] = rows;
    const aheadMs = (row?.now.getTime() ?? askedMs) - (askedMs + Date.now()) / 2;
    const applied = row?.migrated === true ? (await client.query<{ name: string }>('SELECT name FROM kysely_migration')).rows : [];
    assertUsable(applied.map(({ name }) => name));
    const needsProfileKey = await readNeedOfProfileKey(client, state);
    return { state, version: row?.version ?? '', migrations: applied.length, aheadMs: Math.round(aheadMs), needsProfileKey };
  } finally {
    await client.end().catch(() => {});
  }
}

/** A fleet has its key in the database. */
async function readNeedOfProfileKey(client: Client, state: 'running' | 'external'): Promise<boolean> {
  const has = async (table: string, condition: string): Promise<boolean> => {
    const { rows: tables } = await client.query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [table]);
    if (tables[0]?.exists !== true) return false;
    const { rows } = await client.query<{ exists: boolean }>(`SELECT EXISTS (SELECT FROM ${table} WHERE ${condition}) AS exists`);
    return rows[0]?.exists === true;
  };
  if (!(await has('profiles', 'content IS NOT NULL'))) return false;
  return state === 'running' || !(await has('fleet_secrets', `name = 'profile-key'`));
}
