/** The present service on data that an earlier one left. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  fetchPage,
  getCredits,
  getJob,
  getSession,
  getStrategies,
  getUsage,
  grantCredits,
  listAudit,
  listCreditEntries,
  listKeys,
  listRecordings,
  listSessions,
  metrics,
} from '@berth/contract';
import { Client } from 'pg';
import { newRawKey } from '../../packages/server/src/accounts/keys/keys.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { earlierDatabase } from '../../packages/server/testing/test-store.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';

/** API key of the owner `acme`. */
const key = newRawKey();
const rows = readFileSync(join(import.meta.dirname, 'data-of-0007.sql'), 'utf8').replaceAll('KEY_OF_ACME', key);
const [whole, cutShort] = ['rec_eeeeeeeeeeeeeeeeeeeeeeee', 'rec_ffffffffffffffffffffffff'];
const [ended, lost] = ['ses_cccccccccccccccccccccccc', 'ses_dddddddddddddddddddddddd'];

describe('data of the version before', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-upgrade-'));
  let database: Awaited<ReturnType<typeof earlierDatabase>>;
  let served: TestApp;
  before(async () => {
    database = await earlierDatabase('0007-money');
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(rows);
    await client.end();
    // The same worker, of a later version.
    writeFileSync(join(dataDir, 'worker-id'), 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb');
    for (const recId of [whole, cutShort]) {
      const folder = join(dataDir, 'recordings', recId);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'poster.jpg'), 'a picture');
    }
    served = await startApp({ previous: { dataDir, databaseUrl: database.url, runtime: createFakeRuntime() } });
  });
  after(async () => {
    await served?.close();
    await database?.drop();
    rmSync(dataDir, { recursive: true });
  });

  it('data of the version before have keys that work, and their audit entries', async () => {
    const { body: keys } = await served.call(listKeys, { query: { owner: 'acme' } });
    assert.deepEqual(
      keys.map(({ name, status }) => [name, status]),
      [['ci', 'active']],
    );
    assert.equal((await served.call(listSessions, { key })).status, 200);
    const { body: audit } = await served.call(listAudit, { query: { owner: 'acme' } });
    assert.ok(audit.some(({ action, subject }) => action === 'key.created' && subject === 'key_aaaaaaaaaaaaaaaaaaaaaaaa'));
  });

  it('data of the version before have sessions that can be read, and those that were running are lost', async () => {
    const { body } = await served.call(getSession, { key, params: { session_id: ended } });
    assert.deepEqual([body.status, body.name, body.usage.actions], ['ended', 'finished', 2]);
    const read = async () => (await served.call(getSession, { key, params: { session_id: lost } })).body;
    await eventually('the session of the worker before', async () => (await read()).ended_reason === 'worker_lost');
  });

  it('data of the version before have jobs that end', async () => {
    const params = { job_id: `${ended}.00000000-0000-4000-8000-000000000001` };
    const read = async () => (await served.call(getJob, { key, params })).body;
    await eventually('the job of the worker before', async () => (await read()).status === 'error');
    assert.equal((await read()).error?.code, 'worker_lost');
  });

  it('data of the version before have ended jobs that can be read', async () => {
    const params = { job_id: `${ended}.00000000-0000-4000-8000-000000000002` };
    const { body } = await served.call(getJob, { key, params });
    assert.deepEqual([body.status, body.error?.code], ['error', 'deadline_exceeded']);
  });

  it('data of the version before have recordings, of which the one that was running is finished', async () => {
    const read = async (session_id: string) => (await served.call(listRecordings, { key, params: { session_id } })).body;
    const [complete] = await read(ended);
    assert.deepEqual(
      [complete?.rec_id, complete?.status, complete?.duration_ms, complete?.assets],
      [whole, 'complete', 60_000, ['index.html', 'poster.jpg']],
    );
    const [cut] = await read(lost);
    // It has no video.
    assert.deepEqual([cut?.status, cut?.ended_at !== null], ['failed', true]);
  });

  it('data of the version before have credits and usage that go on from where they were', async () => {
    assert.equal((await served.call(getCredits, { key })).body.balance, 7);
    const { body: entries } = await served.call(listCreditEntries, { key, query: { limit: '100' } });
    assert.deepEqual(
      entries.slice(-2).map(({ type, amount, session_id }) => [type, amount, session_id]),
      [
        ['session', -3, ended],
        ['grant', 10, null],
      ],
    );
    await served.call(grantCredits, { body: { owner: 'acme', amount: 1 } });
    assert.equal((await served.call(getCredits, { key })).body.balance, 8);
    const checked = async (): Promise<string | undefined> => {
      const { text } = await served.call(metrics);
      return /^berth_ledger_check_timestamp_seconds 0$/m.test(text) ? undefined : /^berth_ledger_wrong_wallets (\d+)/m.exec(text)?.[1];
    };
    await eventually('a check of the ledger', async () => (await checked()) !== undefined);
    assert.equal(await checked(), '0');
    const { body } = await served.call(getUsage, { key });
    assert.deepEqual([body.usage.actions, body.usage.browser_seconds, body.usage.sessions], [2, 30, 1]);
  });

  it('data of the version before have replies to requests with a key, and requests that were running', async () => {
    const request = (name: string) => ({ key, body: { url: 'http://site.test/' }, headers: { 'idempotency-key': name } });
    const replayed = await fetch(`${served.url}/v1/fetch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'answered' },
      body: JSON.stringify(request('answered').body),
    });
    assert.deepEqual([replayed.status, await replayed.json()], [404, { what: 'was answered' }]);
    await served.refuse(fetchPage, 'idempotency_in_progress', request('running'));
    assert.equal((await served.call(fetchPage, request('left'))).status, 200);
  });

  it('data of the version before have the results of strategies on sites, by their present names', async () => {
    const { body } = await served.call(getStrategies, { query: { owner: 'acme', domain: 'example.com' } });
    const [learned] = body.strategies.filter(({ attempts }) => attempts > 0);
    assert.deepEqual([learned?.name, learned?.attempts], ['throttle', 4]);
  });

  it('data of the version before do not hinder new work', async () => {
    assert.equal((await served.create({}, { key })).status, 'ready');
    assert.equal((await served.call(fetchPage, { key, body: { url: 'http://site.test/' } })).status, 200);
  });
});
