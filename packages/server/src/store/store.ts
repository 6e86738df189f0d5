import { Kysely, PostgresDialect, sql } from 'kysely';
import type { PoolConfig } from 'pg';
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Log } from '@berth/lib/log.ts';
import { claimDataFolder, DataFolderConflictError } from './claim.ts';
import { Connections, type StoreObserver } from './connections.ts';
import { DatabaseUnusableError, isStalePlan, storeUnavailable } from './errors.ts';
import { migrate } from './migrate.ts';
import { openEmbedded } from './embedded/open-embedded.ts';

export { allocateFile } from './allocate.ts';
export { dataFolderKey } from './claim.ts';
export { backUpDatabase, type Backup } from './backup/backup.ts';
export { statementOperations, type StatementOperation, type StoreObserver } from './connections.ts';
export { isStoreUnavailable, isUniqueViolation, lastKnownMsMax } from './errors.ts';
export { inspectDatabase, type DatabaseState } from './inspect.ts';
export { Listener } from './listener.ts';
export { restoreDatabase } from './backup/restore.ts';

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
  /** A connection of its own, for what must not wait behind other statements. The ordinary ones where the database is embedded. */
  readonly urgent: Tables;
  /** Commits when the work returns, rolls back when it throws. Begins again where a migration has made a statement's plan stale. */
  transaction<R>(work: (tx: Tables) => Promise<R>): Promise<R>;
  /** @throws ServiceError store_unavailable, also when the signal aborts */
  ping(options: { signal: AbortSignal }): Promise<void>;
  /** Connections to the server, and callers that wait for one. */
  readonly connections: { busy: number; idle: number; waiting: number };
  /** Sets the observer for metrics. The last one counts. */
  observe(observer: StoreObserver): void;
  /** Waits for running statements, closes all connections and stops the embedded server. Idempotent. */
  close(): Promise<void>;
}

interface StoreOptions {
  /** A PostgreSQL server, shared by a fleet; `null` for the embedded one. */
  databaseUrl: string | null;
  /** URL of the server itself where `databaseUrl` is a pooler in transaction mode. */
  directUrl?: string | null;
  /** An absolute path: the embedded database is in its `postgres` directory. */
  dataDir: string;
  log: Log;
}

/** The database's clock. @throws ServiceError store_unavailable */
export async function readDatabaseTime(tables: Tables): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tables.tables());
  const [row] = rows;
  if (!row) throw new Error('the database has no clock');
  return row.now;
}

/**
 * Opens the database and applies pending migrations.
 *
 * @throws DataFolderConflictError when another Berth process uses the data directory.
 * @throws NewerDatabaseError when a newer version has migrated it.
 */
export async function openStore({ databaseUrl, directUrl = null, dataDir, log }: StoreOptions): Promise<Store> {
  const cleanup = new Cleanup();
  try {
    const connection =
      databaseUrl === null
        ? await openEmbedded({ dataDir, log }, cleanup)
        : await openShared({ databaseUrl: directUrl ?? databaseUrl, dataDir, log }, cleanup);
    await migrate(connection);
    const connections =
      databaseUrl !== null && directUrl !== null
        ? new Connections({ connectionString: databaseUrl }, { isPooled: true })
        : new Connections(connection);
    const urgent = databaseUrl === null ? null : new Connections({ ...connection, ...urgentLimits });
    return new PostgresStore(connections, urgent, cleanup.transfer());
  } catch (error) {
    for (const err of await cleanup.run()) log.error({ err }, 'store cleanup failed');
    throw error;
  }
}

async function openShared(
  { databaseUrl, dataDir, log }: { databaseUrl: string; dataDir: string; log: Log },
  cleanup: Cleanup,
): Promise<PoolConfig> {
  const connection = { connectionString: databaseUrl };
  const claim = await claimDataFolder({ dataDir, log, connection: () => connection }).catch((cause: unknown) => {
    throw cause instanceof DataFolderConflictError ? cause : new DatabaseUnusableError(databaseUrl, cause);
  });
  cleanup.push('claim on the data folder', () => claim.release());
  return connection;
}

/** A server that does not answer a heartbeat in this time is asked again, over a new connection. */
const urgentLimits: PoolConfig = {
  max: 1,
  min: 0,
  connectionTimeoutMillis: 2_000,
  query_timeout: 3_000,
  application_name: 'berth-heartbeat',
};

class PostgresStore implements Store {
  readonly urgent: Tables;
  readonly #db: Kysely<unknown>;
  readonly #urgent: Kysely<unknown> | null;
  readonly #connections: Connections;
  readonly #cleanup: Cleanup;
  #closing: Promise<void> | undefined;

  constructor(connections: Connections, urgent: Connections | null, cleanup: Cleanup) {
    this.#connections = connections;
    this.#db = new Kysely({ dialect: new PostgresDialect({ pool: this.#connections }) });
    this.#urgent = urgent && new Kysely({ dialect: new PostgresDialect({ pool: urgent }) });
    const db = this.#urgent ?? this.#db;
    this.urgent = { tables: <T>() => db as unknown as Kysely<T> };
    this.#cleanup = cleanup;
  }

  tables<T>(): Kysely<T> {
    return this.#db as unknown as Kysely<T>;
  }

  async transaction<R>(work: (tx: Tables) => Promise<R>): Promise<R> {
    const run = (): Promise<R> => this.#db.transaction().execute((tx) => work({ tables: <T>() => tx as unknown as Kysely<T> }));
    try {
      return await run();
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      return await run();
    }
  }

  get connections(): Store['connections'] {
    return this.#connections.counts;
  }

  observe(observer: StoreObserver): void {
    this.#connections.observer = observer;
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
    await Promise.all([this.#db.destroy(), this.#urgent?.destroy()]);
    const [err] = await this.#cleanup.run();
    if (err) throw err;
  }
}
