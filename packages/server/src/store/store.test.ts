import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { type ColumnType, type Generated, sql } from 'kysely';
import { silentLog } from '@berth/lib/log.ts';
import { DataFolderConflictError } from './claim.ts';
import { makeClusterFolder, makeFolder } from '../../testing/cluster.ts';
import { startEmbedded } from './embedded/embedded.ts';
import { isUniqueViolation, openStore } from './store.ts';
import { type TestStore, testStore } from '../../testing/test-store.ts';

interface TestTables {
  owners: { owner_id: string; tier: string; created_at: Generated<Date> };
  things: { id: number; at: Date; details: ColumnType<object, object, object> };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.code === 'store_unavailable' &&
  error.status === 503 &&
  error.retryable &&
  (error.retryAfterSeconds ?? 0) > 0;

describe('the store', () => {
  let test: TestStore;
  before(async () => {
    test = await testStore();
  });
  after(() => test.drop());

  const insertOwner = (id: string) => test.store.tables<TestTables>().insertInto('owners').values({ owner_id: id, tier: 'free' }).execute();
  const countOwners = async (id: string): Promise<number> => {
    const rows = await test.store.tables<TestTables>().selectFrom('owners').selectAll().where('owner_id', '=', id).execute();
    return rows.length;
  };

  it('the store gives times as dates, bigints as numbers and JSON as what it holds', async () => {
    const db = test.store.tables<TestTables>();
    await sql`create table things (id bigint primary key, at timestamptz not null, details jsonb not null)`.execute(db);
    const thing = { id: 2 ** 40, at: new Date('2026-01-02T03:04:05.678Z'), details: { list: [1, 'two'], none: null } };
    await db.insertInto('things').values(thing).execute();
    assert.deepEqual(await db.selectFrom('things').selectAll().execute(), [thing]);
  });

  it('the store relies on no state of its connections behind a pooler in transaction mode', async () => {
    const pooled = await openStore({ databaseUrl: test.url, directUrl: test.url, dataDir: makeFolder(), log: silentLog });
    try {
      await pooled.transaction(async (tx) => {
        await tx.tables<TestTables>().selectFrom('owners').selectAll().where('owner_id', '=', 'nobody').execute();
        const { rows } = await sql`select (select count(*) from pg_prepared_statements) as prepared,
          current_setting('statement_timeout') as timeout`.execute(tx.tables());
        assert.deepEqual(rows, [{ prepared: 0, timeout: '0' }]);
      });
    } finally {
      await pooled.close();
    }
  });

  it('the store lets a caller recognise which unique constraint was violated', async () => {
    await insertOwner('twice');
    await assert.rejects(
      insertOwner('twice'),
      (error) => isUniqueViolation(error, 'owners_pkey') && isUniqueViolation(error) && !isUniqueViolation(error, 'other'),
    );
    assert.equal(isUniqueViolation(new Error('23505')), false);
  });

  it('the store keeps all of a transaction or nothing', async () => {
    const insertTwo = (fail: boolean) =>
      test.store.transaction(async (tx) => {
        await tx.tables<TestTables>().insertInto('owners').values({ owner_id: 'whole', tier: 'free' }).execute();
        if (fail) throw new Error('half-way');
        return 'done';
      });
    await assert.rejects(insertTwo(true), /half-way/);
    assert.equal(await countOwners('whole'), 0);
    assert.equal(await insertTwo(false), 'done');
    assert.equal(await countOwners('whole'), 1);
  });

  it('the store fails no call when a newer version alters tables under its prepared statements', async () => {
    await insertOwner('altered');
    const countAll = () => Promise.all(Array.from({ length: 20 }, () => countOwners('altered')));
    const countInTransaction = () =>
      test.store.transaction(async (tx) => {
        await tx.tables<TestTables>().updateTable('owners').set({ tier: 'pro' }).where('owner_id', '=', 'altered').execute();
        const query = tx.tables<TestTables>().selectFrom('owners').selectAll();
        return (await query.where('owner_id', '=', 'altered').execute()).length;
      });
    const ones = Array<number>(20).fill(1);
    for (const [i, count] of [countAll, () => Promise.all(ones.map(countInTransaction))].entries()) {
      assert.deepEqual(await count(), ones, 'every connection has the plan');
      await sql`alter table owners add column ${sql.id(`note_${i}`)} text`.execute(test.store.tables());
      assert.deepEqual(await count(), ones);
      assert.deepEqual(await count(), ones);
    }
  });

  it('the store runs more statements at once than it has connections', async () => {
    const rows = await Promise.all(
      Array.from({ length: 100 }, (_, n) => sql<{ n: number }>`select ${n}::bigint as n`.execute(test.store.tables())),
    );
    assert.deepEqual(
      rows.map((result) => result.rows[0]?.n),
      Array.from({ length: 100 }, (_, n) => n),
    );
  });

  it('the store takes a read-only server for one that is away, and asks it over a new connection the next time', async () => {
    const db = test.store.tables();
    const name = sql.id(test.name);
    // As at a standby before it is promoted, or at a primary that was replaced.
    await sql`alter database ${name} set default_transaction_read_only = on`.execute(db);
    const standby = await openStore({ databaseUrl: test.url, dataDir: makeFolder(), log: silentLog });
    try {
      const write = () => sql`insert into owners (owner_id, tier) values ('failover', 'free')`.execute(standby.tables());
      await assert.rejects(write(), isUnavailable);
      await sql`alter database ${name} reset default_transaction_read_only`.execute(db);
      await write();
    } finally {
      await standby.close();
    }
  });

  it('the store distinguishes a statement that takes too long from a wrong one', async () => {
    const slow = test.store.transaction(async (tx) => {
      await sql`set local statement_timeout = 20`.execute(tx.tables());
      await sql`select pg_sleep(30)`.execute(tx.tables());
    });
    await assert.rejects(slow, isUnavailable);
    await assert.rejects(sql`select nonsense`.execute(test.store.tables()), (error) => !(error instanceof ServiceError));
  });
});

describe('a store whose server fails', () => {
  it('a store whose server fails answers store_unavailable while it is down, and works again when it is back', async () => {
    const dataDir = await makeClusterFolder();
    const first = await startEmbedded({ dataDir, log: silentLog });
    const databaseUrl = `postgres://berth@localhost/postgres?host=${encodeURIComponent(first.connection.host)}`;
    const store = await openStore({ databaseUrl, dataDir, log: silentLog });
    const ping = () => store.ping({ signal: AbortSignal.timeout(20_000) });
    try {
      await ping();
      const asleep = assert.rejects(sql`select pg_sleep(30)`.execute(store.tables()), isUnavailable);
      const torn = assert.rejects(
        store.transaction((tx) => sql`select pg_sleep(30)`.execute(tx.tables())),
        isUnavailable,
      );
      await ping();
      await first.stop();
      await Promise.all([asleep, torn]);
      await assert.rejects(ping(), isUnavailable);
      await assert.rejects(
        store.transaction((tx) => sql`select 1`.execute(tx.tables())),
        isUnavailable,
      );
      const second = await startEmbedded({ dataDir, log: silentLog });
      await ping();
      await store.close();
      await second.stop();
    } finally {
      await store.close();
      await first.stop();
    }
  });

  it('a store does not wait for a frozen server longer than the signal allows', async () => {
    const dataDir = await makeClusterFolder();
    const store = await openStore({ databaseUrl: null, dataDir, log: silentLog });
    try {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store.tables());
      const { pid } = rows[0] ?? assert.fail();
      process.kill(pid, 'SIGSTOP');
      try {
        await assert.rejects(store.ping({ signal: AbortSignal.timeout(50) }), isUnavailable);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await store.ping({ signal: AbortSignal.timeout(20_000) });
    } finally {
      await store.close();
    }
  });
});

describe('a store on a data folder', () => {
  it('a store on a data folder refuses a second process and leaves the first at work', async () => {
    const dataDir = await makeClusterFolder();
    const store = await openStore({ databaseUrl: null, dataDir, log: silentLog });
    try {
      await assert.rejects(openStore({ databaseUrl: null, dataDir, log: silentLog }), DataFolderConflictError);
      await store.ping({ signal: AbortSignal.timeout(20_000) });
    } finally {
      await store.close();
    }
  });

  it('a data folder is free again at once when the process of its store was killed', async () => {
    const dataDir = await makeClusterFolder();
    const script = `
      const { openStore } = await import(${JSON.stringify(new URL('./store.ts', import.meta.url).href)});
      const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
      await openStore({ databaseUrl: null, dataDir: ${JSON.stringify(dataDir)}, log: silent });
      console.log('open');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const store = await openStore({ databaseUrl: null, dataDir, log: silentLog });
    await store.ping({ signal: AbortSignal.timeout(20_000) });
    await store.close();
  });

  it('a store on a data folder stops its server when it is closed, however often', async () => {
    const dataDir = await makeClusterFolder();
    const store = await openStore({ databaseUrl: null, dataDir, log: silentLog });
    const pidFile = join(dataDir, 'postgres/cluster/postmaster.pid');
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
    await Promise.all([store.close(), store.close()]);
    await store.close();
    assert.equal(existsSync(pidFile), false);
    assert.equal(existsSync(`/proc/${pid}/exe`), false);
  });
});
