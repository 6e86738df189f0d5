import { Kysely, PostgresDialect, sql } from 'kysely';
import type { PoolConfig } from 'pg';
import { Cleanup } from '../lib/cleanup.ts';
import type { Log } from '../lib/log.ts';
import { claimDataFolder, DataFolderConflict } from './claim.ts';
import { Connections } from './connections.ts';
import { startEmbedded } from './embedded.ts';
import { storeUnavailable } from './errors.ts';
import { migrate } from './migrate.ts';

export { allocateFile } from './allocate.ts';
export { isUniqueViolation } from './errors.ts';

/** Executes statements: the store itself, or a transaction. */
export interface Tables {
  /** Each folder declares the row types of its own tables. */
  tables<T>(): Kysely<T>;
}

/**
 * The database. Statements throw `ServiceError('store_unavailable')` when it
 * cannot be reached or does not respond in time.
 *
 * int8 is a number, timestamptz a Date, jsonb the parsed value. An array for a
 * jsonb column must be passed as `JSON.stringify(array)`.
 */
export interface Store extends Tables {
  /** Commits when the work returns, rolls back when it throws. */
  transaction<R>(work: (tx: Tables) => Promise<R>): Promise<R>;
  /** @throws ServiceError store_unavailable, also when the signal aborts */
  ping(options: { signal: AbortSignal }): Promise<void>;
  /** Waits for running statements, closes all connections and stops the embedded server. Idempotent. */
  close(): Promise<void>;
}

interface StoreOptions {
  /** A PostgreSQL server, shared by a fleet; `null` for the embedded one. */
  databaseUrl: string | null;
  /** An absolute path: the embedded database is in its `postgres` directory. */
  dataDir: string;
  log: Log;
}

/**
 * Opens the database and applies pending migrations.
 *
 * @throws DataFolderConflict when another Berth process uses the data directory.
 * @throws NewerDatabase when a newer version has migrated it.
 */
export async function openStore({ databaseUrl, dataDir, log }: StoreOptions): Promise<Store> {
  const cleanup = new Cleanup();
  try {
    const connection =
      databaseUrl === null ? await openEmbedded({ dataDir, log }, cleanup) : await openShared({ databaseUrl, dataDir, log }, cleanup);
    await migrate(connection);
    return new PostgresStore(connection, cleanup.transfer());
  } catch (error) {
    for (const err of await cleanup.run()) log.error({ err }, 'store cleanup failed');
    throw error;
  }
}

/** The message names server and database, never the password. */
class DatabaseUnusable extends Error {
  constructor(databaseUrl: string, cause: unknown) {
    const { host, pathname } = new URL(databaseUrl);
    super(
      `the database at ${host}${pathname} (BERTH_DATABASE_URL) is unusable: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'DatabaseUnusable';
  }
}

async function openShared(
  { databaseUrl, dataDir, log }: { databaseUrl: string; dataDir: string; log: Log },
  cleanup: Cleanup,
): Promise<PoolConfig> {
  const connection = { connectionString: databaseUrl };
  const claim = await claimDataFolder({ dataDir, log, connection: () => connection }).catch((cause: unknown) => {
    throw cause instanceof DataFolderConflict ? cause : new DatabaseUnusable(databaseUrl, cause);
  });
  cleanup.push('claim on the data folder', () => claim.release());
  return connection;
}

async function openEmbedded({ dataDir, log }: { dataDir: string; log: Log }, cleanup: Cleanup): Promise<PoolConfig> {
  const embedded = await startEmbedded({ dataDir, log });
  // A server that another process has claimed must keep running.
  const claim = await claimDataFolder({ dataDir, log, connection: () => embedded.connection }).catch(async (error: unknown) => {
    await embedded.detach();
    throw error;
  });
  cleanup.push('embedded database', () => embedded.stop());
  cleanup.push('claim on the data folder', () => claim.release());
  return embedded.connection;
}

class PostgresStore implements Store {
  readonly #db: Kysely<unknown>;
  readonly #cleanup: Cleanup;
  #closing: Promise<void> | undefined;

  constructor(connection: PoolConfig, cleanup: Cleanup) {
    this.#db = new Kysely({ dialect: new PostgresDialect({ pool: new Connections(connection) }) });
    this.#cleanup = cleanup;
  }

  tables<T>(): Kysely<T> {
    return this.#db as unknown as Kysely<T>;
  }

  transaction<R>(work: (tx: Tables) => Promise<R>): Promise<R> {
    return this.#db.transaction().execute((tx) => work({ tables: <T>() => tx as unknown as Kysely<T> }));
  }

  async ping({ signal }: { signal: AbortSignal }): Promise<void> {
    try {
      await sql`select 1`.execute(this.#db, { signal });
    } catch (error) {
      throw signal.aborted ? storeUnavailable(error) : error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#db.destroy();
    const [err] = await this.#cleanup.run();
    if (err) throw err;
  }
}
