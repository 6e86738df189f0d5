import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listAudit, createPromoCodes, redeemPromo } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('201', () => {
  it('POST /admin/promo-codes creates working codes and returns them once', async () => {
    const request = { body: { tier: 'scale', trial_days: 30, count: 3 }, headers: { 'idempotency-key': 'three-codes' } };
    const { body } = await served.call(createPromoCodes, request);
    const codes = body.codes ?? [];
    assert.equal(new Set(codes).size, 3);
    for (const code of codes) assert.match(code, /^TRIAL-[0-9A-Z-]{31}$/);
    assert.deepEqual((await served.call(createPromoCodes, request)).body, { codes: null });
    const redeemed = await served.call(redeemPromo, { key: await served.login('acme'), body: { code: codes[2] } });
    assert.equal(redeemed.body.tier, 'scale');
  });

  it('POST /admin/promo-codes creates one code by default', async () => {
    const { body } = await served.call(createPromoCodes, { body: { tier: 'developer', trial_days: 1 } });
    assert.equal(body.codes?.length, 1);
  });

  it('POST /admin/promo-codes creates a thousand codes at once', async () => {
    const { body } = await served.call(createPromoCodes, { body: { tier: 'developer', trial_days: 365, count: 1000 } });
    assert.equal(new Set(body.codes).size, 1000);
  });

  it('POST /admin/promo-codes is in the audit log without the codes', async () => {
    const { body } = await served.call(createPromoCodes, { body: { tier: 'startup', trial_days: 2, expires_in_days: 3 } });
    const log = await served.call(listAudit, { query: { action: 'promo_codes.made', limit: '1' } });
    const [entry] = log.body;
    assert.deepEqual(
      [entry?.actor, entry?.owner, entry?.details['tier'], entry?.details['trial_days'], entry?.details['count']],
      ['operator', null, 'startup', 2, 1],
    );
    assert.ok(body.codes?.[0] && !log.text.includes(body.codes[0].slice(-7)));
  });
});

describe('422', () => {
  it('POST /admin/promo-codes answers 422 for an unknown plan with the available ones', async () => {
    const [issue] = await served.issues(createPromoCodes, { body: { tier: 'platinum', trial_days: 7 } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['body', 'tier'], 'literal_error', 'platinum']);
    assert.match(String(issue?.ctx['expected']), /'free', .*'scale'/);
  });

  it('POST /admin/promo-codes refuses numbers out of bounds with 422', async () => {
    for (const [field, value] of [
      ['trial_days', 0],
      ['trial_days', 366],
      ['count', 0],
      ['count', 1001],
      ['expires_in_days', 0],
      ['trial_days', 1.5],
    ] as const) {
      const [issue] = await served.issues(createPromoCodes, { body: { tier: 'scale', trial_days: 7, [field]: value } });
      assert.deepEqual(issue?.loc, ['body', field]);
    }
  });
});
