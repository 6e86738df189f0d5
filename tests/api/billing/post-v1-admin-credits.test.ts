import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getCredits, grantCredits, listAudit } from '@berth/contract';
import { Client as Database } from 'pg';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const grant = (owner: string, amount: number, fields: { note?: string; key?: string } = {}) =>
  served.call(grantCredits, {
    body: { owner, amount, ...(fields.note === undefined ? {} : { note: fields.note }) },
    headers: fields.key === undefined ? {} : { 'idempotency-key': fields.key },
  });

describe('200', () => {
  it('POST /v1/admin/credits adds the exact amount to the owner’s wallet', async () => {
    const key = await served.ownerKey('acme');
    assert.deepEqual((await grant('acme', 0.1)).body, { owner: 'acme', granted: 0.1, balance: 0.1 });
    assert.deepEqual((await grant('acme', 0.2)).body, { owner: 'acme', granted: 0.2, balance: 0.3 });
    assert.equal((await served.call(getCredits, { key })).body.balance, 0.3);
  });

  it('POST /v1/admin/credits accepts the minimum and the maximum amount', async () => {
    await grant('rich', 1_000_000_000);
    assert.equal((await grant('rich', 0.000001)).body.balance, 1_000_000_000.000001);
  });

  it('POST /v1/admin/credits creates an owner that does not exist', async () => {
    await grant('expected', 3);
    const key = await served.ownerKey('expected');
    assert.equal((await served.call(getCredits, { key })).body.balance, 3);
  });

  it('POST /v1/admin/credits adds an audit entry with the note', async () => {
    await grant('noted', 3, { note: 'for the trouble' });
    const { body } = await served.call(listAudit, { query: { owner: 'noted' } });
    assert.deepEqual(
      body.map(({ actor, action, details }) => [actor, action, details]),
      [['operator', 'credits.granted', { amount: 3, note: 'for the trouble' }]],
    );
  });

  it('POST /v1/admin/credits grants again for each request', async () => {
    await Promise.all([1, 2, 3].map(() => grant('often', 1)));
    assert.equal((await grant('often', 1)).body.balance, 4);
  });

  it('POST /v1/admin/credits grants once per Idempotency-Key, even when the first response was not stored', async () => {
    assert.equal((await grant('careful', 5, { key: 'march' })).body.balance, 5);
    const database = new Database({ connectionString: served.databaseUrl });
    await database.connect();
    await database.query('delete from idempotency_keys');
    await database.end();
    const again = await grant('careful', 5, { key: 'march' });
    assert.deepEqual([again.headers.get('idempotent-replayed'), again.body.balance], [null, 5]);
    assert.equal((await grant('careful', 5, { key: 'april' })).body.balance, 10);
  });
});

describe('a correction of a grant', () => {
  it('POST /v1/admin/credits takes an amount back once per Idempotency-Key, and is in the audit log', async () => {
    const key = await served.ownerKey('mistaken');
    await grant('mistaken', 10);
    for (let count = 0; count < 2; count += 1)
      assert.deepEqual((await grant('mistaken', -4.5, { note: 'too much', key: 'fix' })).body, {
        owner: 'mistaken',
        granted: -4.5,
        balance: 5.5,
      });
    assert.equal((await served.call(getCredits, { key })).body.balance, 5.5);
    const { body } = await served.call(listAudit, { query: { owner: 'mistaken', action: 'credits.corrected' } });
    assert.deepEqual(
      body.map(({ actor, details }) => [actor, details]),
      [['operator', { amount: 4.5, note: 'too much' }]],
    );
  });

  it('POST /v1/admin/credits answers insufficient_credits for a correction beyond what is available, and takes nothing', async () => {
    await grant('spent', 2);
    const { details } = await served.refuse(grantCredits, 'insufficient_credits', { body: { owner: 'spent', amount: -2.000001 } });
    assert.deepEqual(details, { balance: 2, available: 2, required: 2.000001 });
    assert.equal((await grant('spent', -2)).body.balance, 0);
  });
});

describe('422', () => {
  const wrong: Record<string, unknown> = {
    'more than may be taken back at once': -1_000_000_001,
    nothing: 0,
    'more than may be given at once': 1_000_000_001,
    'a number that no computer holds': Number.MAX_VALUE,
    'a seventh decimal': 0.0000001,
    'a text': '5',
    'no amount': null,
  };
  for (const [what, amount] of Object.entries(wrong))
    it(`POST /v1/admin/credits refuses ${what} with 422`, async () => {
      const [issue] = await served.issues(grantCredits, { body: { owner: 'acme', amount } });
      assert.deepEqual(issue?.loc, ['body', 'amount']);
    });

  for (const rawAmount of ['NaN', 'Infinity', '1e999', '-1e-7'])
    it(`POST /v1/admin/credits refuses the literal ${rawAmount} with 422`, async () => {
      await served.issues(grantCredits, { rawBody: `{"owner":"acme","amount":${rawAmount}}` });
    });

  it('POST /v1/admin/credits refuses an amount that would overflow the wallet with 422', async () => {
    for (let n = 0; n < 9; n += 1) await grant('full', 1_000_000_000);
    const [issue] = await served.issues(grantCredits, { body: { owner: 'full', amount: 0.000001 } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'amount'], 'less_than_equal']);
  });

  it('POST /v1/admin/credits answers 422, grants nothing and creates no owner', async () => {
    await served.issues(grantCredits, { body: { owner: 'phantom', amount: 0 } });
    assert.deepEqual((await served.call(listAudit, { query: { owner: 'phantom' } })).body, []);
  });
});
