import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { silentLog } from '@berth/lib/log.ts';
import { makeClusterFolder, makeFolder } from '../../../testing/cluster.ts';
import { type Embedded, startEmbedded } from './embedded.ts';

const isRoot = process.getuid?.() === 0;
const start = (dataDir: string): Promise<Embedded> => startEmbedded({ dataDir, log: silentLog });

async function query(embedded: Embedded, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(embedded.connection);
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Tries until the server that comes back answers; the test's own timeout is the limit. */
async function queryAgain(embedded: Embedded, text: string): Promise<Record<string, unknown>[]> {
  for (;;) {
    try {
      return await query(embedded, text);
    } catch {
      await sleep(10);
    }
  }
}

/** Another process that starts the database, says its number, and waits to be killed. */
async function startElsewhere(dataDir: string): Promise<{ kill(): Promise<void>; pid: number; adopted: boolean }> {
  const script = `
    const { startEmbedded } = await import(${JSON.stringify(new URL('./embedded.ts', import.meta.url).href)});
    const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
    const { pid, adopted } = await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: silent });
    console.log(JSON.stringify({ pid, adopted }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const kill = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { kill, ...(JSON.parse(line.toString()) as { pid: number; adopted: boolean }) };
}

describe('the embedded database', () => {
  it('the embedded database runs without rights, on a socket that others cannot enter', async () => {
    const embedded = await start(makeFolder());
    try {
      assert.equal(embedded.adopted, false);
      const { uid, mode } = statSync(embedded.connection.host);
      assert.equal(mode & 0o777, 0o700);
      assert.equal(uid, statSync(`/proc/${embedded.pid}`).uid);
      assert.notEqual(uid, 0);
      const [row] = await query(
        embedded,
        `select current_setting('listen_addresses') as tcp, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`,
      );
      assert.deepEqual(row, { tcp: '', fsync: 'on', commit: 'on' });
    } finally {
      await embedded.stop();
    }
  });

  it('the embedded database keeps its data over a stop, and leaves no process', async () => {
    const folder = await makeClusterFolder();
    const first = await start(folder);
    await query(first, 'create table survivors as select 42 as answer');
    await Promise.all([first.stop(), first.stop()]);
    assert.equal(existsSync(`/proc/${first.pid}/exe`), false);
    const second = await start(folder);
    try {
      assert.equal(second.adopted, false);
      assert.deepEqual(await query(second, 'select answer from survivors'), [{ answer: 42 }]);
    } finally {
      await second.stop();
    }
  });

  it('the embedded database adopts the server of a process that was killed, and can stop it', async () => {
    const folder = await makeClusterFolder();
    const elsewhere = await startElsewhere(folder);
    await elsewhere.kill();
    const embedded = await start(folder);
    assert.equal(embedded.adopted, true);
    assert.equal(embedded.pid, elsewhere.pid);
    assert.equal((await query(embedded, 'select 1')).length, 1);
    await embedded.stop();
    await assert.rejects(query(embedded, 'select 1'));
  });

  it('the embedded database stops itself and no process that its lock file is made to name', async () => {
    const embedded = await start(await makeClusterFolder());
    const bystander = spawn('sleep', ['100']);
    try {
      const [row] = await query(embedded, 'show data_directory');
      const lock = join(String(row?.['data_directory']), 'postmaster.pid');
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(/^\d+/, String(bystander.pid)));
      await embedded.stop();
      assert.equal(existsSync(`/proc/${embedded.pid}/exe`), false);
      assert.equal(bystander.exitCode ?? bystander.signalCode, null);
    } finally {
      bystander.kill('SIGKILL');
      await embedded.stop();
    }
  });

  it('the embedded database comes back by itself with every acknowledged row when the server is killed', async () => {
    const embedded = await start(await makeClusterFolder());
    try {
      await query(embedded, 'create table rows (id integer primary key)');
      const client = new Client(embedded.connection);
      client.on('error', () => {});
      await client.connect();
      const acknowledged: number[] = [];
      const killed = embedded.pid;
      await assert.rejects(async () => {
        for (let id = 0; ; id++) {
          await client.query('insert into rows values ($1)', [id]);
          acknowledged.push(id);
          if (id === 200) process.kill(killed, 'SIGKILL');
        }
      });
      await client.end().catch(() => {});
      const survivors = new Set((await queryAgain(embedded, 'select id from rows')).map((row) => row['id']));
      assert.deepEqual(
        acknowledged.filter((id) => !survivors.has(id)),
        [],
      );
      assert.notEqual(embedded.pid, killed);
    } finally {
      await embedded.stop();
    }
  });

  it('the embedded database comes back when a server dies that it had adopted', async () => {
    const folder = await makeClusterFolder();
    const elsewhere = await startElsewhere(folder);
    await elsewhere.kill();
    const embedded = await start(folder);
    try {
      process.kill(embedded.pid, 'SIGKILL');
      await queryAgain(embedded, 'select 1');
      assert.notEqual(embedded.pid, elsewhere.pid);
    } finally {
      await embedded.stop();
    }
  });

  it('the embedded database lets two processes race on an empty folder and gives both the same database', async () => {
    const folder = makeFolder();
    const [one, other] = await Promise.all([startElsewhere(folder), startElsewhere(folder)]);
    await Promise.all([one.kill(), other.kill()]);
    assert.equal(one.pid, other.pid);
    assert.notEqual(one.adopted, other.adopted);
    const embedded = await start(folder);
    try {
      assert.equal(embedded.pid, one.pid);
      assert.deepEqual(
        readdirSync(join(folder, 'postgres')).filter((name) => name.includes('-new-')),
        [],
      );
    } finally {
      await embedded.stop();
    }
  });

  it('the embedded database finds room for the socket when the path of the folder is too long for one', async () => {
    const folder = join(makeFolder(), 'a'.repeat(60), 'b'.repeat(60));
    const embedded = await start(folder);
    const { host } = embedded.connection;
    try {
      assert.equal((await query(embedded, 'select 1')).length, 1);
      assert.equal(statSync(host).mode & 0o777, 0o700);
    } finally {
      await embedded.stop();
    }
    assert.equal(existsSync(host), false);
  });

  it(
    'the embedded database runs for a data folder that only root can enter, and finds its data again there',
    { skip: !isRoot && 'only root drops its rights' },
    async () => {
      const closed = join(makeFolder(), 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const folder = join(closed, 'data');
      const first = await start(folder);
      const home = realpathSync(join(folder, 'postgres'));
      try {
        assert.equal(dirname(home), '/var/lib/berth');
        await query(first, 'create table survivors as select 42 as answer');
        await first.stop();
        const second = await start(folder);
        try {
          assert.deepEqual(await query(second, 'select answer from survivors'), [{ answer: 42 }]);
        } finally {
          await second.stop();
        }
        assert.equal(statSync(closed).mode & 0o777, 0o700);
      } finally {
        await first.stop();
        rmSync(home, { recursive: true });
      }
    },
  );

  it('the embedded database reads a cluster that root has copied', { skip: !isRoot && 'only root can give files away' }, async () => {
    const folder = await makeClusterFolder();
    const copy = join(makeFolder(), 'copy');
    const copying = spawn('cp', ['-r', folder, copy]);
    await once(copying, 'exit');
    const embedded = await start(copy);
    try {
      assert.equal((await query(embedded, 'select 1')).length, 1);
    } finally {
      await embedded.stop();
    }
  });

  it('the embedded database says why a damaged cluster does not start, and leaves it as it is', async () => {
    const folder = await makeClusterFolder();
    const control = join(folder, 'postgres/cluster/global/pg_control');
    writeFileSync(control, 'damaged');
    await assert.rejects(startEmbedded({ dataDir: folder, log: silentLog, startTimeoutMs: 2000 }), /did not start[^]*pg_control/);
    assert.equal(readFileSync(control, 'utf8'), 'damaged');
  });

  it('the embedded database does not start on the files of another major version', async () => {
    const folder = await makeClusterFolder();
    const version = join(folder, 'postgres/cluster/PG_VERSION');
    writeFileSync(version, '9.1\n');
    await assert.rejects(startEmbedded({ dataDir: folder, log: silentLog }), /is of PostgreSQL 9\.1, and this release of Berth has/);
    assert.equal(readFileSync(version, 'utf8'), '9.1\n');
  });

  it('the embedded database keeps its log within bounds', async () => {
    const folder = await makeClusterFolder();
    const file = join(folder, 'postgres/postgres.log');
    writeFileSync(file, 'x'.repeat(3 * 1024 * 1024));
    await (await start(folder)).stop();
    assert.ok(statSync(file).size < 100_000);
    assert.equal(statSync(`${file}.1`).size, 3 * 1024 * 1024);
  });
});
