import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { migrate, NewerDatabaseError } from './migrate.ts';
import { type TestStore, testStore } from '../../testing/test-store.ts';

describe('migrations', () => {
  let test: TestStore;
  let folder: string;
  before(async () => {
    test = await testStore();
  });
  after(() => test.drop());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-migrations-'));
    await sql`drop schema public cascade; create schema public`.execute(test.store.tables());
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const migrateFolder = () => migrate({ connectionString: test.url }, pathToFileURL(`${folder}/`));
  const select = async (column: string, table: string): Promise<unknown[]> => {
    const { rows } = await sql<Record<string, unknown>>`select ${sql.ref(column)} from ${sql.table(table)} order by 1`.execute(
      test.store.tables(),
    );
    return rows.map((row) => row[column]);
  };

  it('migrations run in the order of their numbers, each with all its statements', async () => {
    write('0002-second.sql', `insert into marks values ('it''s; two');`);
    write('0001-first.sql', `-- A comment; with a semicolon.\ncreate table marks (mark text);\ninsert into marks values ('one');`);
    await migrateFolder();
    assert.deepEqual(await select('mark', 'marks'), ["it's; two", 'one']);
    assert.deepEqual(await select('name', 'kysely_migration'), ['0001-first', '0002-second']);
  });

  it('migrations change nothing the second time, and only add what is new', async () => {
    write('0001-first.sql', `create table marks (mark text); insert into marks values ('one');`);
    await migrateFolder();
    await migrateFolder();
    write('0002-second.sql', `insert into marks values ('two');`);
    await migrateFolder();
    assert.deepEqual(await select('mark', 'marks'), ['one', 'two']);
  });

  it('migrations run once when several workers start together', async () => {
    write('0001-first.sql', `create table marks (mark text); insert into marks values ('one');`);
    await Promise.all([migrateFolder(), migrateFolder(), migrateFolder(), migrateFolder()]);
    assert.deepEqual(await select('mark', 'marks'), ['one']);
  });

  it('migrations of the next version let this one start, for they only add', async () => {
    write('0001-first.sql', `create table marks (mark text);`);
    write('0002-second.sql', `alter table marks add column note text; insert into marks values ('two');`);
    await migrateFolder();
    rmSync(join(folder, '0002-second.sql'));
    await migrateFolder();
    assert.deepEqual(await select('mark', 'marks'), ['two']);
  });

  it('migrations that remove something let a version start that uses the replacement, and no version before', async () => {
    write('0001-first.sql', `create table marks (mark text);`);
    write('0002-second.sql', `alter table marks add column note text;`);
    write('0003-contract-of-0002-mark.sql', `alter table marks drop column mark;`);
    await migrateFolder();
    rmSync(join(folder, '0003-contract-of-0002-mark.sql'));
    await migrateFolder();
    rmSync(join(folder, '0002-second.sql'));
    await assert.rejects(
      migrateFolder(),
      (error) => error instanceof NewerDatabaseError && error.message.includes('0003-contract-of-0002-mark'),
    );
  });

  it('migrations are refused where the database has others that this version does not know', async () => {
    write('0001-first.sql', `create table marks (mark text);`);
    write('0002-theirs.sql', `select 1;`);
    await migrateFolder();
    rmSync(join(folder, '0002-theirs.sql'));
    write('0002-ours.sql', `insert into marks values ('ours');`);
    await assert.rejects(migrateFolder(), (error) => error instanceof NewerDatabaseError && error.message.includes('0002-theirs'));
  });

  it('migrations leave nothing behind when one of them fails', async () => {
    write('0001-first.sql', `create table marks (mark text);`);
    write('0002-broken.sql', `insert into marks values ('two'); insert into nowhere values (1);`);
    await assert.rejects(migrateFolder(), /could not be migrated/);
    assert.deepEqual(await select('name', 'kysely_migration'), []);
    write('0002-broken.sql', `insert into marks values ('two');`);
    await migrateFolder();
    assert.deepEqual(await select('mark', 'marks'), ['two']);
  });
});
