import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createCreditCodes, endSession, grantCredits, listCreditEntries, navigate, redeemCredits } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp({ environment: { BERTH_CREDITS_ENFORCED: 'true' } });
});
after(() => served.close());

const grant = (owner: string, amount: number) => served.call(grantCredits, { body: { owner, amount } });

describe('200', () => {
  it('GET /v1/credits/ledger returns what was added and charged, newest first, with the balance after each', async () => {
    const key = await served.ownerKey('journaled');
    await grant('journaled', 100);
    await grant('journaled', -40);
    const [code = ''] = (await served.call(createCreditCodes, { body: { amount: 2.5 } })).body.codes ?? [];
    await served.call(redeemCredits, { key, body: { code } });
    const { session_id } = await served.create({}, { key });
    await served.call(navigate, { key, params: { session_id }, body: { url: 'about:blank' } });
    await served.call(endSession, { key, params: { session_id } });
    const { body, headers } = await served.call(listCreditEntries, { key });
    assert.deepEqual(
      body.map(({ type, amount, balance, session_id: session }) => [type, amount, balance, session]),
      [
        ['action', -0.01, 61.49, session_id],
        ['session', -1, 61.5, session_id],
        ['code', 2.5, 62.5, null],
        ['correction', -40, 60, null],
        ['grant', 100, 100, null],
      ],
    );
    assert.equal(headers.get('x-has-more'), 'false');
  });

  it('GET /v1/credits/ledger continues a page exactly, also when entries are added meanwhile', async () => {
    const key = await served.ownerKey('paged');
    for (const amount of [1, 2, 3, 4, 5]) await grant('paged', amount);
    const first = await served.call(listCreditEntries, { key, query: { limit: '2' } });
    assert.deepEqual([first.body.map(({ balance }) => balance), first.headers.get('x-has-more')], [[15, 10], 'true']);
    await grant('paged', 100);
    const cursor = first.headers.get('x-next-cursor') ?? '';
    const { body } = await served.call(listCreditEntries, { key, query: { limit: '500', cursor } });
    assert.deepEqual(
      body.map(({ amount, balance }) => [amount, balance]),
      [
        [3, 6],
        [2, 3],
        [1, 1],
      ],
    );
  });

  it('GET /v1/credits/ledger is empty for an owner without entries, and holds nobody else’s', async () => {
    await grant('rich', 5);
    assert.deepEqual((await served.call(listCreditEntries, { key: await served.ownerKey('poor') })).body, []);
  });
});

describe('422', () => {
  it('GET /v1/credits/ledger refuses a cursor of another list with 422', async () => {
    const key = await served.ownerKey('lost');
    const cursor = Buffer.from('["a","b"]').toString('base64url');
    const [issue] = await served.issues(listCreditEntries, { key, query: { cursor } });
    assert.deepEqual(issue?.loc, ['query', 'cursor']);
  });
});
