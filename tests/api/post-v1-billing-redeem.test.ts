import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getUsage, listAudit, makePromoCodes, redeemPromo } from '@berth/contract';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { startSelling, type Selling } from '../selling.ts';

const dayMs = 86_400_000;
/** Login tokens are good for an hour or so: who comes back after days signs in anew. */
const clock = new ManualClock(new Date('2026-03-01T12:00:00.000Z'));
let paid: Selling;
before(async () => {
  paid = await startSelling({ clock });
});
after(() => paid.close());

async function newCode(facts: Record<string, unknown> = {}): Promise<string> {
  const { body } = await paid.served.call(makePromoCodes, { body: { tier: 'scale', trial_days: 7, ...facts } });
  return body.codes?.[0] ?? assert.fail('no code was made');
}
const request = async (owner: string, code: string) => ({ key: await paid.served.login(owner), body: { code } });

describe('200', () => {
  it('gives the plan for its days, without a payment, and the plan before it afterwards', async () => {
    const ends = new Date(clock.now().getTime() + 7 * dayMs).toISOString();
    const { body } = await paid.served.call(redeemPromo, await request('taster', await newCode()));
    assert.deepEqual(body, { ok: true, tier: 'scale', trial_ends_at: ends });
    const usage = await paid.served.call(getUsage, { key: await paid.served.ownerKey('taster') });
    assert.deepEqual([usage.body.tier, usage.body.trial_ends_at], ['scale', ends]);
    clock.advance(7 * dayMs);
    assert.equal(await paid.tierOf('taster'), 'free');
  });

  it('is for one among fifty callers of two owners', async () => {
    const code = await newCode();
    const requests = await Promise.all(Array.from({ length: 50 }, (_, n) => request(`racer-${n % 2}`, code)));
    const replies = await Promise.all(requests.map((each) => paid.served.call(redeemPromo, each)));
    const counted = [200, 409].map((wanted) => replies.filter(({ status }) => status === wanted).length);
    assert.deepEqual(counted, [1, 49]);
  });

  it('is told to the operator with who signed in, without the code', async () => {
    const code = await newCode();
    await paid.served.call(redeemPromo, await request('logged', code));
    const { body, text } = await paid.served.call(listAudit, { query: { owner: 'logged', action: 'promo.redeemed' } });
    assert.deepEqual(
      body.map(({ actor, details }) => [actor, details['tier']]),
      [['login:ada@example.com', 'scale']],
    );
    assert.ok(!text.includes(code.slice(-7)));
  });

  it('ends early when a plan is bought', async () => {
    await paid.served.call(redeemPromo, await request('eager', await newCode()));
    await paid.buy('eager', 'developer');
    assert.equal(await paid.tierOf('eager'), 'developer');
  });
});

describe('404 code_not_found', () => {
  it('is told of a code that nobody has made, as of a credit code or of no code at all', async () => {
    for (const code of ['TRIAL-AAAAA-BBBBB-CCCCC-DDDDD-EEEEE-F', 'x', '\u2603', "' or 1=1 --"])
      await paid.served.refuse(redeemPromo, 'code_not_found', await request('guesser', code));
  });
});

describe('409 code_already_redeemed', () => {
  it('is told the second time, to whoever it is', async () => {
    const code = await newCode();
    await paid.served.call(redeemPromo, await request('first', code));
    await paid.served.refuse(redeemPromo, 'code_already_redeemed', await request('first', code));
    await paid.served.refuse(redeemPromo, 'code_already_redeemed', await request('second', code));
  });
});

describe('409 plan_active', () => {
  it('is told to who pays for a plan, and the code is still good for another', async () => {
    const code = await newCode();
    await paid.buy('payer', 'developer');
    await paid.served.refuse(redeemPromo, 'plan_active', await request('payer', code));
    assert.equal(await paid.tierOf('payer'), 'developer');
    assert.equal((await paid.served.call(redeemPromo, await request('waiter', code))).status, 200);
  });
});

describe('410 code_expired', () => {
  it('is told from the moment on at which the code expires', async () => {
    const code = await newCode({ expires_in_days: 1 });
    clock.advance(dayMs);
    await paid.served.refuse(redeemPromo, 'code_expired', await request('late', code));
  });
});

describe('422', () => {
  it('refuses a body without a code, or with one that is too long', async () => {
    for (const body of [{}, { code: '' }, { code: 'x'.repeat(129) }]) {
      const [fault] = await paid.served.faults(redeemPromo, { body });
      assert.deepEqual(fault?.loc, ['body', 'code']);
    }
  });
});
