/**
 * One database for each test file, copied from a migrated template.
 *
 * A run of all tests shares one server, whose URL is in the environment; a file
 * that runs alone starts its own and stops it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { silentLog } from '../lib/log.ts';
import { startEmbedded } from './embedded.ts';
import { migrate } from './migrate.ts';
import { openStore, type Store } from './store.ts';

export const testDatabaseVariable = 'BERTH_TEST_DATABASE_URL';

/** Read here and not in config.ts, because it is for tests only. */
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
  /** For a second connection, as of another worker. */
  url: string;
  /** Closes the store and removes the database. */
  drop(): Promise<void>;
}

/** An embedded server in a temporary directory, which `stop()` deletes. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const embedded = await startEmbedded({ dataDir, log: silentLog });
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
  const template = await createTemplate(server.url);
  const name = `berth_test_${randomBytes(8).toString('hex')}`;
  await run(server.url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = ofDatabase(server.url, name);
  const store = await openStore({ databaseUrl: url, dataDir: '', log: silentLog });
  const drop = async () => {
    await store.close();
    await run(server.url, `DROP DATABASE ${name} WITH (FORCE)`);
    await server.stop();
  };
  return { store, name, url, drop };
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
  const folder = new URL('./migrations/', import.meta.url);
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
