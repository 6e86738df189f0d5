import { readdirSync, readFileSync } from 'node:fs';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { PoolConfig } from 'pg';
import { Connections } from './connections.ts';

const ownMigrations = new URL('./migrations/', import.meta.url);

/** A newer version has removed what this one uses: it must not write to the database. */
export class NewerDatabaseError extends Error {
  constructor(unknown: readonly string[]) {
    super(
      `a newer version of Berth has migrated the database (unknown migration ${unknown.join(', ')}). ` +
        'Start that version, or use another database.',
    );
    this.name = 'NewerDatabaseError';
  }
}

const migrationFiles = (folder: URL): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
const nameOf = (file: string): string => file.replace(/\.sql$/, '');

/**
 * A contract step removes what the migration with the number in its name has replaced. Whoever knows that migration uses
 * its replacement (scripts/checks/migrations.ts). Any other migration only adds.
 */
const contractOf = /^\d{4}-contract-of-(\d{4})-/;

/** The version before runs beside the next, whose migrations it does not know. @throws NewerDatabaseError where it cannot */
export function assertUsable(applied: readonly string[], names: readonly string[] = migrationFiles(ownMigrations).map(nameOf)): void {
  const unusable = applied.filter((name) => {
    const [, replaced] = names.includes(name) ? [] : (contractOf.exec(name) ?? []);
    return replaced !== undefined && !names.some((known) => known.startsWith(`${replaced}-`));
  });
  if (unusable.length > 0) throw new NewerDatabaseError(unusable);
}

interface MigrationTables {
  kysely_migration: { name: string };
}

/**
 * Applies all pending migrations in one transaction. Several workers may do so at
 * once: one applies them under a lock, the others wait.
 *
 * @throws NewerDatabaseError
 */
export async function migrate(connection: PoolConfig, folder: URL = ownMigrations): Promise<void> {
  const files = migrationFiles(folder);
  const names = files.map(nameOf);
  // A migration may take minutes, and so may the wait for another worker's.
  const pool = new Connections({
    ...connection,
    max: 2,
    min: 0,
    statement_timeout: 0,
    query_timeout: 0,
    idle_in_transaction_session_timeout: 0,
  });
  const db = new Kysely<MigrationTables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const applied = await readApplied(db);
    assertUsable(applied, names);
    if (names.every((name) => applied.includes(name))) return;
    const unknown = applied.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new NewerDatabaseError(unknown);
    const provider = {
      getMigrations: () => Promise.resolve(Object.fromEntries(files.map((file, index) => [names[index], toMigration(folder, file)]))),
    };
    const { error } = await new Migrator({ db, provider }).migrateToLatest();
    if (error instanceof Error) throw new Error('the database could not be migrated', { cause: error });
    if (error) throw new Error(`the database could not be migrated: ${JSON.stringify(error)}`);
  } finally {
    await db.destroy();
  }
}

/** Read directly, because the Migrator's introspection takes longer than the rest of a start. */
async function readApplied(db: Kysely<MigrationTables>): Promise<string[]> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass('kysely_migration') is not null as there`.execute(db);
  if (!rows[0]?.there) return [];
  const applied = await db.selectFrom('kysely_migration').select('name').execute();
  return applied.map((row) => row.name);
}

const toMigration = (folder: URL, file: string): Migration => ({
  up: async (db) => {
    await sql.raw(readFileSync(new URL(file, folder), 'utf8')).execute(db);
  },
});
