import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getCredits, listAudit, createCreditCodes, redeemCredits } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
const dayMs = 86_400_000;
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

async function newCode(amount = 5, fields: { expires_in_days?: number } = {}): Promise<string> {
  const { body } = await served.call(createCreditCodes, { body: { amount, ...fields } });
  return body.codes?.[0] ?? assert.fail('no code was made');
}
const balanceOf = async (key: string): Promise<number> => (await served.call(getCredits, { key })).body.balance;

describe('200', () => {
  it('POST /v1/credits/redeem credits the exact amount of the code', async () => {
    const key = await served.ownerKey('payer');
    const first = await served.call(redeemCredits, { key, body: { code: await newCode(2.5) } });
    assert.deepEqual(first.body, { ok: true, granted: 2.5, balance: 2.5 });
    const second = await served.call(redeemCredits, { key, body: { code: await newCode(0.000001) } });
    assert.deepEqual(second.body, { ok: true, granted: 0.000001, balance: 2.500001 });
    assert.equal(await balanceOf(key), 2.500001);
  });

  it('POST /v1/credits/redeem ignores case, dashes, blanks and look-alike letters', async () => {
    const code = await newCode();
    const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `;
    assert.equal((await served.call(redeemCredits, { body: { code: typed } })).body.granted, 5);
  });

  it('POST /v1/credits/redeem adds an audit entry without the code', async () => {
    const key = await served.ownerKey('audited');
    const code = await newCode();
    await served.call(redeemCredits, { key, body: { code } });
    const { body, text } = await served.call(listAudit, { query: { owner: 'audited', action: 'credits.redeemed' } });
    assert.deepEqual(
      body.map(({ actor, details }) => [actor.slice(0, 8), details]),
      [['key:key_', { amount: 5 }]],
    );
    assert.ok(!text.includes(code.slice(-5)));
  });

  it('POST /v1/credits/redeem succeeds for exactly one of fifty callers of two owners', async () => {
    const keys = [await served.ownerKey('quick'), await served.ownerKey('quicker')];
    const code = await newCode();
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => served.call(redeemCredits, { key: keys[n % 2] ?? null, body: { code } })),
    );
    assert.deepEqual(
      [200, 409].map((status) => replies.filter((reply) => reply.status === status).length),
      [1, 49],
    );
    assert.equal((await balanceOf(keys[0] ?? '')) + (await balanceOf(keys[1] ?? '')), 5);
  });
});

describe('404 code_not_found', () => {
  it('POST /v1/credits/redeem answers 404 code_not_found for an unknown code', async () => {
    const key = await served.ownerKey('hopeful');
    for (const code of ['CREDIT-00000-00000-00000-00000-00000-0', 'x', '-', 'é'.repeat(128)])
      await served.refuse(redeemCredits, 'code_not_found', { key, body: { code } });
    assert.equal(await balanceOf(key), 0);
  });

  it('POST /v1/credits/redeem allows twenty unknown codes per minute, after which even a valid code is refused', async () => {
    const key = await served.ownerKey('guesser');
    const code = await newCode();
    for (let n = 0; n < 20; n += 1) await served.refuse(redeemCredits, 'code_not_found', { key, body: { code: `guess ${n}` } });
    const { reply } = await served.refuse(redeemCredits, 'rate_limited', { key, body: { code } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.equal((await served.call(redeemCredits, { key: await served.ownerKey('other'), body: { code } })).status, 200);
  });
});

describe('409 code_already_redeemed', () => {
  it('POST /v1/credits/redeem answers every further attempt of any owner 409 code_already_redeemed', async () => {
    const code = await newCode();
    await served.call(redeemCredits, { body: { code } });
    await served.refuse(redeemCredits, 'code_already_redeemed', { body: { code } });
    const key = await served.ownerKey('late');
    await served.refuse(redeemCredits, 'code_already_redeemed', { key, body: { code } });
    assert.equal(await balanceOf(key), 0);
  });
});

describe('410 code_expired', () => {
  it('POST /v1/credits/redeem answers 410 code_expired for an expired code', async () => {
    const key = await served.ownerKey('slow');
    const [code, longer] = [await newCode(5, { expires_in_days: 1 }), await newCode(5, { expires_in_days: 2 })];
    clock.advance(dayMs);
    await served.refuse(redeemCredits, 'code_expired', { key, body: { code } });
    assert.equal((await served.call(redeemCredits, { key, body: { code: longer } })).body.balance, 5);
  });
});

describe('422', () => {
  for (const [what, body] of Object.entries({
    'no code': {},
    'an empty one': { code: '' },
    'a long one': { code: 'x'.repeat(129) },
    'a number': { code: 5 },
  }))
    it(`POST /v1/credits/redeem refuses ${what} with 422`, async () => {
      const [issue] = await served.issues(redeemCredits, { body });
      assert.deepEqual(issue?.loc, ['body', 'code']);
    });
});
