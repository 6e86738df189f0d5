import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getUsage, listAudit, createPromoCodes, redeemPromo } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { startBillingApp, type BillingApp } from '../../prepare/billing-app.ts';

const dayMs = 86_400_000;
/** Login tokens are valid for about an hour, so a later call signs in again. */
const clock = new ManualClock(new Date('2026-03-01T12:00:00.000Z'));
let paid: BillingApp;
before(async () => {
  paid = await startBillingApp({ clock });
});
after(() => paid.close());

async function newCode(fields: Record<string, unknown> = {}): Promise<string> {
  const { body } = await paid.served.call(createPromoCodes, { body: { tier: 'scale', trial_days: 7, ...fields } });
  return body.codes?.[0] ?? assert.fail('no code was made');
}
const request = async (owner: string, code: string) => ({ key: await paid.served.login(owner), body: { code } });

describe('200', () => {
  it('POST /v1/billing/redeem grants the plan for the trial days and restores the previous plan afterwards', async () => {
    const ends = new Date(clock.now().getTime() + 7 * dayMs).toISOString();
    const { body } = await paid.served.call(redeemPromo, await request('taster', await newCode()));
    assert.deepEqual(body, { ok: true, tier: 'scale', trial_ends_at: ends });
    const usage = await paid.served.call(getUsage, { key: await paid.served.ownerKey('taster') });
    assert.deepEqual([usage.body.tier, usage.body.trial_ends_at], ['scale', ends]);
    clock.advance(7 * dayMs);
    assert.equal(await paid.tierOf('taster'), 'free');
  });

  it('POST /v1/billing/redeem succeeds for exactly one of fifty concurrent callers', async () => {
    const code = await newCode();
    const requests = await Promise.all(Array.from({ length: 50 }, (_, n) => request(`racer-${n % 2}`, code)));
    const replies = await Promise.all(requests.map((each) => paid.served.call(redeemPromo, each)));
    const counted = [200, 409].map((wanted) => replies.filter(({ status }) => status === wanted).length);
    assert.deepEqual(counted, [1, 49]);
  });

  it('POST /v1/billing/redeem adds an audit entry with the subject but without the code', async () => {
    const code = await newCode();
    await paid.served.call(redeemPromo, await request('logged', code));
    const { body, text } = await paid.served.call(listAudit, { query: { owner: 'logged', action: 'promo.redeemed' } });
    assert.deepEqual(
      body.map(({ actor, details }) => [actor, details['tier']]),
      [['login:ada@example.com', 'scale']],
    );
    assert.ok(!text.includes(code.slice(-7)));
  });

  it('POST /v1/billing/redeem ends the trial when a plan is bought', async () => {
    await paid.served.call(redeemPromo, await request('eager', await newCode()));
    await paid.buy('eager', 'developer');
    assert.equal(await paid.tierOf('eager'), 'developer');
  });
});

describe('404 code_not_found', () => {
  it('POST /v1/billing/redeem answers 404 code_not_found for an unknown code, a credit code and a malformed code', async () => {
    for (const code of ['TRIAL-AAAAA-BBBBB-CCCCC-DDDDD-EEEEE-F', 'x', '\u2603', "' or 1=1 --"])
      await paid.served.refuse(redeemPromo, 'code_not_found', await request('guesser', code));
  });
});

describe('409 code_already_redeemed', () => {
  it('POST /v1/billing/redeem answers every second attempt 409 code_already_redeemed', async () => {
    const code = await newCode();
    await paid.served.call(redeemPromo, await request('first', code));
    await paid.served.refuse(redeemPromo, 'code_already_redeemed', await request('first', code));
    await paid.served.refuse(redeemPromo, 'code_already_redeemed', await request('second', code));
  });
});

describe('409 plan_active', () => {
  it('POST /v1/billing/redeem answers 409 plan_active for an owner with a paid plan, and keeps the code valid for others', async () => {
    const code = await newCode();
    await paid.buy('payer', 'developer');
    await paid.served.refuse(redeemPromo, 'plan_active', await request('payer', code));
    assert.equal(await paid.tierOf('payer'), 'developer');
    assert.equal((await paid.served.call(redeemPromo, await request('waiter', code))).status, 200);
  });
});

describe('410 code_expired', () => {
  it('POST /v1/billing/redeem answers 410 code_expired from the moment of expiry', async () => {
    const code = await newCode({ expires_in_days: 1 });
    clock.advance(dayMs);
    await paid.served.refuse(redeemPromo, 'code_expired', await request('late', code));
  });
});

describe('422', () => {
  it('POST /v1/billing/redeem refuses a missing or too long code with 422', async () => {
    for (const body of [{}, { code: '' }, { code: 'x'.repeat(129) }]) {
      const [issue] = await paid.served.issues(redeemPromo, { body });
      assert.deepEqual(issue?.loc, ['body', 'code']);
    }
  });
});
