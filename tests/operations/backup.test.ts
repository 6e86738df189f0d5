/** A backup of the embedded database while the service works, restored elsewhere. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKey, fetchPage, getCredits, getJob, grantCredits, listSessions, metrics } from '@berth/contract';
import { eventually, jobIdOf, type Client } from '../harness.ts';
import { Service, stopAll } from '../e2e/service.ts';
import { runCommand } from './commands.ts';

/** What one writer was answered. */
interface Acknowledged {
  key: string;
  owner: string;
  granted: number;
  jobs: string[];
}

/** Creates an owner with a key, credits and a job, again and again. */
async function write(client: Client, writer: number, state: { done: boolean; acknowledged: Acknowledged[] }): Promise<void> {
  for (let round = 0; !state.done; round++) {
    const owner = `writer-${writer}-${round}`;
    const { body: created } = await client.call(createKey, { body: { owner } });
    const entry: Acknowledged = { owner, key: created.key ?? '', granted: 0, jobs: [] };
    const { body: granted } = await client.call(grantCredits, { body: { owner, amount: round + 1 } });
    const job = await client.call(fetchPage, { key: entry.key, body: { url: 'http://10.0.0.1/', mode: 'http', async: true } });
    if (job.status === 200) entry.jobs.push(jobIdOf(job.body));
    state.acknowledged.push({ ...entry, granted: granted.granted });
  }
}

describe('a backup', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-backup-'));
  const file = join(folder, 'first.backup');
  const from = { BERTH_DATA_DIR: join(folder, 'data') };
  const to = { BERTH_DATA_DIR: join(folder, 'restored') };
  let service: Service;
  let acknowledged: Acknowledged[];
  let owners: string[];

  before(async () => {
    mkdirSync(from.BERTH_DATA_DIR, { mode: 0o711 });
    service = await Service.start({ dataDir: from.BERTH_DATA_DIR });
    const state = { done: false, acknowledged: [] as Acknowledged[] };
    const writers = Promise.all([0, 1, 2].map((writer) => write(service.client, writer, state)));
    await eventually('three rounds', () => state.acknowledged.length >= 9);
    acknowledged = [...state.acknowledged];
    const { code, stdout, stderr } = await runCommand(['backup', file], from);
    const writtenBefore = state.acknowledged.length;
    await eventually('one more round', () => state.acknowledged.length > writtenBefore);
    state.done = true;
    await writers;
    owners = state.acknowledged.map(({ owner }) => owner);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^In it: the database, and admin-key, api-key, profile-key, shown-keys, token-key, worker-id\./m);
    assert.match(stdout, /^Not in it: images .*, settings/m);
    assert.ok(writtenBefore > acknowledged.length, 'nothing was written during the backup');
  });
  after(async () => {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a backup is a file that only its owner can read, and leaves nothing else behind', () => {
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder).toSorted(), ['data', 'first.backup']);
    assert.deepEqual(
      readdirSync(join(from.BERTH_DATA_DIR, 'postgres')).filter((name) => /new/.test(name)),
      [],
    );
  });

  it('a backup never replaces a file', async () => {
    const { code, stderr } = await runCommand(['backup', file], from);
    assert.equal(code, 1);
    assert.match(stderr, /^Nothing was backed up: .*first\.backup exists\. Name a file that does not\.\n$/);
  });

  it('a backup is not begun where it could fill the disk of the database', async () => {
    const { code, stderr } = await runCommand(['backup', join(folder, 'large.backup')], { ...from, BERTH_DISK_FREE_MB_MIN: '1000000' });
    assert.equal(code, 1);
    assert.match(stderr, /^Nothing was backed up: the disk of the database has \d+ MB free, and a backup needs up to \d+ MB/);
    assert.deepEqual(readdirSync(folder).toSorted(), ['data', 'first.backup']);
  });

  it('a backup is not restored where a database runs', async () => {
    const { code, stderr } = await runCommand(['restore', file], from);
    assert.equal(code, 1);
    assert.match(stderr, /^Nothing was restored: a database runs in .*\/data\. Set BERTH_DATA_DIR to an empty directory\.\n$/);
  });

  it('a backup is not restored where files are', async () => {
    const taken = join(folder, 'taken');
    mkdirSync(taken);
    writeFileSync(join(taken, 'api-key'), 'mine');
    const { code, stderr } = await runCommand(['restore', file], { BERTH_DATA_DIR: taken });
    assert.equal(code, 1);
    assert.match(stderr, /taken is not empty \(api-key\)/);
    assert.equal(readFileSync(join(taken, 'api-key'), 'utf8'), 'mine');
  });

  it('a backup that is damaged restores nothing', async () => {
    const damaged = join(folder, 'damaged.backup');
    writeFileSync(damaged, readFileSync(file), { mode: 0o600 });
    truncateSync(damaged, 1024 ** 2);
    const target = join(folder, 'none');
    const { code, stderr } = await runCommand(['restore', damaged], { BERTH_DATA_DIR: target });
    assert.equal(code, 1);
    assert.match(stderr, /^Nothing was restored: .*damaged\.backup is not a backup of Berth, or it is damaged\.\n$/);
    assert.equal(existsSync(target), false);
  });

  it('a backup has all that was acknowledged before it began, with a ledger that adds up', async () => {
    const { code, stdout, stderr } = await runCommand(['restore', file], to);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Restored to .*\/restored: the service as of 20/);
    for (const name of ['admin-key', 'api-key', 'token-key', 'profile-key', 'worker-id']) {
      const [original, copy] = [from, to].map(({ BERTH_DATA_DIR: data }) => readFileSync(join(data, name), 'utf8'));
      assert.equal(copy, original);
      assert.equal(statSync(join(to.BERTH_DATA_DIR, name)).mode & 0o777, 0o600);
    }
    const { client } = await Service.start({ dataDir: to.BERTH_DATA_DIR });
    for (const { key, granted, jobs } of acknowledged) {
      assert.equal((await client.call(listSessions, { key })).status, 200);
      assert.equal((await client.call(getCredits, { key })).body.balance, granted);
      for (const id of jobs) assert.equal((await client.call(getJob, { key, params: { job_id: id } })).status, 200);
    }
    assert.ok(acknowledged.length >= 9 && acknowledged.some(({ jobs }) => jobs.length > 0));
    const wrong = async (): Promise<string | undefined> => {
      const { text } = await client.call(metrics);
      const checked = /^berth_ledger_check_timestamp_seconds (\d+)/m.exec(text)?.[1];
      return checked === '0' ? undefined : /^berth_ledger_wrong_wallets (\d+)/m.exec(text)?.[1];
    };
    await eventually('a check of the ledger', async () => (await wrong()) !== undefined, 60_000);
    assert.equal(await wrong(), '0');
    assert.equal((await client.call(createKey, { body: { owner: owners[0] ?? '' } })).status, 201);
  });

  it('a backup also works while the service is stopped', async () => {
    assert.equal(await service.stop(), 0);
    // In the data directory itself, where no backup becomes part of another.
    for (const name of ['second.backup', 'third.backup']) {
      const { code, stdout } = await runCommand(['backup', join(from.BERTH_DATA_DIR, name)], from);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^Written: .*${name}`));
      assert.match(stdout, /^In it: the database, and admin-key, api-key, profile-key, shown-keys, token-key, worker-id\./m);
    }
    assert.equal(existsSync(join(from.BERTH_DATA_DIR, 'postgres/cluster/postmaster.pid')), false);
  });

  it('a backup says what to do where the database is elsewhere', async () => {
    const elsewhere = { ...from, BERTH_DATABASE_URL: 'postgres://berth:hidden@127.0.0.1:1/berth' };
    const { code, stderr } = await runCommand(['backup', join(folder, 'third.backup')], elsewhere);
    assert.equal(code, 1);
    assert.match(stderr, /^Nothing was backed up: the database is at 127\.0\.0\.1:1 \(BERTH_DATABASE_URL\)\. .*pg_dump/);
    assert.doesNotMatch(stderr, /hidden/);
  });
});
