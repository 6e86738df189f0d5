/**
 * One database for each test file, copied from a migrated template.
 *
 * A run of all tests shares one server, whose URL is in the environment; a file
 * that runs alone starts its own and stops it.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { Client } from 'pg';
import { silentLog } from '@berth/lib/log.ts';
import { startEmbedded } from '../src/store/embedded/embedded.ts';
import { migrate } from '../src/store/migrate.ts';
import { openStore, type Store } from '../src/store/store.ts';

export const testDatabaseVariable = 'BERTH_TEST_DATABASE_URL';

/** URL of a shared server. It is read here and not in config.ts, because it is for tests only. */
const sharedServerUrl = (): string | undefined => process.env[testDatabaseVariable];

export interface TestServer {
  /** URL of the first database, with a role that may create others. */
  url: string;
  stop(): Promise<void>;
}

export interface TestStore {
  store: Store;
  /** The database's name. */
  name: string;
  /** URL for a second connection, as of another worker. */
  url: string;
  /** Closes the store and removes the database. */
  drop(): Promise<void>;
}

/**
 * Ends the server when this process is gone, however it ended: until then its input is open. A server outlives the
 * process that started it, which the one of a test must not.
 */
const guard = `cat >/dev/null
[ -d "$1" ] || exit 0
kill -QUIT "$(head -n 1 "$1/postgres/cluster/postmaster.pid")"
while [ -e "$1/postgres/cluster/postmaster.pid" ]; do sleep 0.1; done
rm -rf "$1"`;

function guardServer(dataDir: string): void {
  const child = spawn('sh', ['-c', guard, 'sh', dataDir], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  // A pipe is a socket, which can be unreferenced; its type does not say so.
  (child.stdin as Socket).unref();
}

/** Stores a worker whose lease was taken. */
export async function insertLostWorker({ store }: Pick<TestStore, 'store'>, workerId: string): Promise<void> {
  await sql`insert into workers (worker_id, region, url, started_at, heartbeat_at, lost_heartbeat)
    values (${workerId}, '', '', now(), now(), now())`.execute(store.tables());
}

/**
 * Many services share it: four workers of one fleet have sixty connections, and several files run at once. Its data
 * outlives a killed process as ever; that of a host need not, and nothing is tidied in databases of a minute.
 */
const settings = { max_connections: '400', fsync: 'off', full_page_writes: 'off', autovacuum: 'off', file_copy_method: 'clone' };

/** An embedded server in a temporary directory, which `stop()` deletes. */
export async function startTestServer(own: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const embedded = await startEmbedded({ dataDir, log: silentLog, settings: { ...settings, ...own } });
  guardServer(dataDir);
  const { host, user, database } = embedded.connection;
  const stop = async () => {
    await embedded.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { url: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}`, stop };
}

export async function testStore(): Promise<TestStore> {
  const shared = sharedServerUrl();
  const server = shared ? { url: shared, stop: () => Promise.resolve() } : await startTestServer();
  const { name, url, drop } = await createDatabase(server.url);
  const store = await openStore({ databaseUrl: url, dataDir: '', log: silentLog });
  const close = async () => {
    await store.close();
    await drop();
    await server.stop();
  };
  return { store, name, url, drop: close };
}

/** A database of the run's shared server, for a service that a test starts; undefined where a file runs alone. */
export async function sharedDatabase(): Promise<Pick<TestStore, 'url' | 'drop'> | undefined> {
  const server = sharedServerUrl();
  return server === undefined ? undefined : createDatabase(server);
}

/** A database as an earlier version left it, with the migrations up to `last`. It has no rows. */
export async function earlierDatabase(last: string): Promise<Pick<TestStore, 'url' | 'drop'>> {
  const shared = sharedServerUrl();
  const server = shared ? { url: shared, stop: () => Promise.resolve() } : await startTestServer();
  const name = `berth_earlier_${randomBytes(8).toString('hex')}`;
  await run(server.url, `CREATE DATABASE ${name}`);
  const folder = mkdtempSync(join(tmpdir(), 'berth-migrations-'));
  const all = new URL('../src/store/migrations/', import.meta.url);
  for (const file of readdirSync(all)) if (file <= `${last}.sql`) copyFileSync(new URL(file, all), join(folder, file));
  const url = ofDatabase(server.url, name);
  await migrate({ connectionString: url }, pathToFileURL(`${folder}/`));
  rmSync(folder, { recursive: true });
  const drop = async (): Promise<void> => {
    await run(server.url, `DROP DATABASE ${name} WITH (FORCE)`);
    await server.stop();
  };
  return { url, drop };
}

async function createDatabase(server: string): Promise<Pick<TestStore, 'name' | 'url' | 'drop'>> {
  const template = await createTemplate(server);
  const name = `berth_test_${randomBytes(8).toString('hex')}`;
  const statement = `CREATE DATABASE ${name} TEMPLATE ${template}`;
  // The kernel copies the files, where it can: less than half of the work of copying by way of the write-ahead log.
  await run(server, `${statement} STRATEGY file_copy`).catch(() => run(server, statement));
  const drop = async () => void (await run(server, `DROP DATABASE ${name} WITH (FORCE)`));
  return { name, url: ofDatabase(server, name), drop };
}

/** Creates the migrated template unless it exists and returns its name. Safe to race. */
export async function createTemplate(url: string): Promise<string> {
  const name = `berth_template_${hashMigrations()}`;
  await connected(url, async (client) => {
    const isThere = async () => (await client.query('select 1 from pg_database where datname = $1', [name])).rows.length > 0;
    if (await isThere()) return;
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    if (await isThere()) return;
    const draft = `${name}_draft`;
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${draft}`);
    await migrate({ connectionString: ofDatabase(url, draft) });
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`);
  });
  return name;
}

/** A changed migration results in another template, so a long-lived server never provides an outdated one. */
function hashMigrations(): string {
  const folder = new URL('../src/store/migrations/', import.meta.url);
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(new URL(file, folder)));
  return hash.digest('hex').slice(0, 16);
}

function ofDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

const run = (url: string, statement: string): Promise<unknown> => connected(url, (client) => client.query(statement));

async function connected<R>(url: string, work: (client: Client) => Promise<R>): Promise<R> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
