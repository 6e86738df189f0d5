import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listAudit, createCreditCodes, redeemCredits } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('201', () => {
  it('POST /admin/credit-codes creates one code with the amount', async () => {
    const { body } = await served.call(createCreditCodes, { body: { amount: 2.5 } });
    const [code = '', ...rest] = body.codes ?? [];
    assert.match(code, /^CREDIT(-[0-9A-HJKMNP-TV-Z]{1,5}){6}$/);
    assert.deepEqual(rest, []);
    assert.equal((await served.call(redeemCredits, { body: { code } })).body.granted, 2.5);
  });

  it('POST /admin/credit-codes creates the requested number of distinct codes', async () => {
    const { body } = await served.call(createCreditCodes, { body: { amount: 1, count: 1000 } });
    assert.equal(new Set(body.codes).size, 1000);
  });

  it('POST /admin/credit-codes returns codes once; a repeated request reports only their number', async () => {
    const request = { body: { amount: 1, count: 2 }, headers: { 'idempotency-key': 'codes' } };
    const first = await served.call(createCreditCodes, request);
    const second = await served.call(createCreditCodes, request);
    assert.equal(first.body.codes?.length, 2);
    assert.deepEqual([second.body, second.headers.get('idempotent-replayed')], [{ codes: null }, 'true']);
  });

  it('POST /admin/credit-codes writes the number of codes to the audit log, and none of the codes', async () => {
    const { body } = await served.call(createCreditCodes, { body: { amount: 7, count: 3, expires_in_days: 30 } });
    const audit = await served.call(listAudit, { query: { action: 'credit_codes.made', limit: '1' } });
    const [entry] = audit.body;
    assert.deepEqual([entry?.actor, entry?.owner, entry?.details['count'], entry?.details['amount']], ['operator', null, 3, 7]);
    for (const code of body.codes ?? []) assert.ok(!audit.text.includes(code));
  });
});

describe('422', () => {
  const wrong: Record<string, Record<string, unknown>> = {
    amount: { amount: 0 },
    count: { amount: 1, count: 1001 },
    expires_in_days: { amount: 1, expires_in_days: 0 },
  };
  for (const [field, body] of Object.entries(wrong))
    it(`POST /admin/credit-codes refuses ${field} out of bounds with 422`, async () => {
      const [issue] = await served.issues(createCreditCodes, { body });
      assert.deepEqual(issue?.loc, ['body', field]);
    });
});
