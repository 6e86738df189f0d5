import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getCredits, grantCredits, listAudit } from '@berth/contract';
import { Client as Database } from 'pg';
import { startApp, type TestApp } from '../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const grant = (owner: string, amount: number, facts: { note?: string; key?: string } = {}) =>
  served.call(grantCredits, {
    body: { owner, amount, ...(facts.note === undefined ? {} : { note: facts.note }) },
    headers: facts.key === undefined ? {} : { 'idempotency-key': facts.key },
  });

describe('200', () => {
  it('adds to the wallet of an owner, exactly', async () => {
    const key = await served.ownerKey('acme');
    assert.deepEqual((await grant('acme', 0.1)).body, { owner: 'acme', granted: 0.1, balance: 0.1 });
    assert.deepEqual((await grant('acme', 0.2)).body, { owner: 'acme', granted: 0.2, balance: 0.3 });
    assert.equal((await served.call(getCredits, { key })).body.balance, 0.3);
  });

  it('takes the largest amount and the smallest', async () => {
    await grant('rich', 1_000_000_000);
    assert.equal((await grant('rich', 0.000001)).body.balance, 1_000_000_000.000001);
  });

  it('makes an owner that is not there yet', async () => {
    await grant('expected', 3);
    const key = await served.ownerKey('expected');
    assert.equal((await served.call(getCredits, { key })).body.balance, 3);
  });

  it('is told in the audit log, with its note', async () => {
    await grant('noted', 3, { note: 'for the trouble' });
    const { body } = await served.call(listAudit, { query: { owner: 'noted' } });
    assert.deepEqual(
      body.map(({ actor, action, details }) => [actor, action, details]),
      [['operator', 'credits.granted', { amount: 3, note: 'for the trouble' }]],
    );
  });

  it('gives each time it is asked', async () => {
    await Promise.all([1, 2, 3].map(() => grant('often', 1)));
    assert.equal((await grant('often', 1)).body.balance, 4);
  });

  it('gives once under one Idempotency-Key, even where the first answer was never kept', async () => {
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

describe('422', () => {
  const wrong: Record<string, unknown> = {
    'a negative amount': -1,
    nothing: 0,
    'more than may be given at once': 1_000_000_001,
    'a number that no computer holds': Number.MAX_VALUE,
    'a seventh decimal': 0.0000001,
    'a text': '5',
    'no amount': null,
  };
  for (const [what, amount] of Object.entries(wrong))
    it(`refuses ${what}`, async () => {
      const [fault] = await served.faults(grantCredits, { body: { owner: 'acme', amount } });
      assert.deepEqual(fault?.loc, ['body', 'amount']);
    });

  for (const rawAmount of ['NaN', 'Infinity', '1e999', '-1e-7'])
    it(`refuses ${rawAmount} as it is written`, async () => {
      await served.faults(grantCredits, { rawBody: `{"owner":"acme","amount":${rawAmount}}` });
    });

  it('refuses what would make a wallet too full to be counted', async () => {
    for (let n = 0; n < 9; n += 1) await grant('full', 1_000_000_000);
    const [fault] = await served.faults(grantCredits, { body: { owner: 'full', amount: 0.000001 } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'amount'], 'less_than_equal']);
  });

  it('gives nothing and makes no owner', async () => {
    await served.faults(grantCredits, { body: { owner: 'phantom', amount: -5 } });
    assert.deepEqual((await served.call(listAudit, { query: { owner: 'phantom' } })).body, []);
  });
});
