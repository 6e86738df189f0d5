import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { ValidationError } from '@berth/contract';
import { silentLog } from '@berth/lib/log.ts';
import { openStore, type Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { dayMs, openBilling, refusedWith, tiers } from '../../../testing/accounts/billing-service.ts';
import { subscriptionOf } from '../../../testing/accounts/billing.ts';

let database: TestStore;
/** The same database, as another worker has it. */
let second: Store;
before(async () => {
  database = await testStore();
  second = await openStore({ databaseUrl: database.url, dataDir: import.meta.dirname, log: silentLog });
});
after(async () => {
  await second.close();
  await database.drop();
});

const actor = 'login:ada';

function open() {
  const opened = openBilling(database.store);
  const { promos } = opened.billing;
  const create = (options: Partial<Parameters<typeof promos.create>[0]> = {}): Promise<string[]> =>
    promos.create({ tier: 'scale', trialDays: 14, count: 1, expiresInDays: null, actor: 'operator', ...options });
  const code = async (options: Parameters<typeof create>[0] = {}): Promise<string> => (await create(options))[0] ?? '';
  const redeem = (owner: string, code: string): ReturnType<typeof promos.redeem> => promos.redeem({ owner, actor, code });
  return { ...opened, create, code, redeem };
}

describe('a code for a trial', () => {
  it('a trial code gives the plan until its days are over, and then it ends by itself', async () => {
    const { code, redeem, tierOf, clock } = open();
    const endsAt = new Date(clock.now().getTime() + 14 * dayMs);
    assert.deepEqual(await redeem('trial', await code()), { tier: 'scale', endsAt });
    assert.equal(await tierOf('trial'), 'scale');
    clock.advance(14 * dayMs - 1);
    assert.equal(await tierOf('trial'), 'scale');
    clock.advance(1);
    assert.equal(await tierOf('trial'), 'free');
  });

  it('a trial code is accepted however it is typed', async () => {
    const { code, redeem } = open();
    const typed = (await code()).toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l');
    assert.equal((await redeem('typist', typed)).tier, 'scale');
  });

  it('a trial code is redeemed once, by whichever of fifty at two workers comes first', async () => {
    const { code, redeem, clock } = open();
    const other = openBilling(second, { clock }).billing.promos;
    const wanted = await code();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) =>
        n % 2 ? redeem(`racer-${n % 4}`, wanted) : other.redeem({ owner: `racer-${n % 4}`, actor, code: wanted }),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.equal(refused.length, 49);
    for (const { reason } of refused) assert.ok(refusedWith('code_already_redeemed')(reason), String(reason));
  });

  it('a trial code is accepted until it expires', async () => {
    const { create, redeem, clock } = open();
    const [first = '', other = ''] = await create({ count: 2, expiresInDays: 30 });
    clock.advance(30 * dayMs - 1);
    await redeem('in-time', first);
    clock.advance(1);
    await assert.rejects(redeem('late', other), refusedWith('code_expired'));
    await assert.rejects(redeem('later', first), refusedWith('code_already_redeemed'));
  });

  it('an unknown trial code is refused, and trying many is refused without a look-up', async () => {
    const { code, redeem } = open();
    for (let attempt = 0; attempt < 20; attempt += 1)
      await assert.rejects(redeem('guesser', `TRIAL-${attempt}`), refusedWith('code_not_found'));
    await assert.rejects(redeem('guesser', await code()), refusedWith('rate_limited'));
    await redeem('another', await code());
  });

  it('a trial code for a plan that has left the file is not changed', async () => {
    const { code, redeem, clock } = open();
    const wanted = await code({ tier: 'startup' });
    const { promos } = openBilling(database.store, {
      clock,
      plans: { ...tiers, get: (name) => (name === 'startup' ? undefined : tiers.get(name)) },
    }).billing;
    await assert.rejects(promos.redeem({ owner: 'gone', actor, code: wanted }), refusedWith('code_expired'));
    assert.equal((await redeem('gone', wanted)).tier, 'startup');
  });
});

describe('a trial', () => {
  it('a trial code is refused for an owner with a subscription, and is accepted when that has ended', async () => {
    for (const status of ['active', 'trialing', 'past_due']) {
      const { code, redeem, sendNow, tierOf } = open();
      const owner = `payer-${status}`;
      const wanted = await code();
      await sendNow('customer.subscription.created', subscriptionOf({ owner, tier: 'developer', status }));
      await assert.rejects(redeem(owner, wanted), refusedWith('plan_active'));
      assert.equal(await tierOf(owner), 'developer');
      await sendNow('customer.subscription.deleted', subscriptionOf({ owner }));
      await redeem(owner, wanted);
      assert.equal(await tierOf(owner), 'scale');
    }
  });

  it('a trial is prolonged by a second code of the same plan, and never shortened', async () => {
    const { code, redeem, clock } = open();
    const [fortnight, week, another] = [await code(), await code({ trialDays: 7 }), await code()];
    await redeem('patient', fortnight);
    clock.advance(dayMs);
    await assert.rejects(redeem('patient', week), refusedWith('plan_active'));
    assert.deepEqual((await redeem('patient', another)).endsAt, new Date(clock.now().getTime() + 14 * dayMs));
    clock.advance(14 * dayMs);
    await redeem('patient', week);
  });

  it('a trial of another plan waits until the first is over', async () => {
    const { code, redeem, tierOf, clock } = open();
    const other = await code({ tier: 'startup' });
    await redeem('taster', await code());
    await assert.rejects(redeem('taster', other), refusedWith('plan_active'));
    assert.equal(await tierOf('taster'), 'scale');
    clock.advance(14 * dayMs);
    await redeem('taster', other);
    assert.equal(await tierOf('taster'), 'startup');
  });

  it('a trial is over when a plan is bought, and goes on when a payment for one fails', async () => {
    const { code, redeem, sendNow, tierOf } = open();
    await redeem('buyer', await code());
    await sendNow('invoice.payment_failed', { ...subscriptionOf({ owner: 'buyer' }), object: 'invoice', subscription: 'sub_1' });
    await sendNow('customer.subscription.updated', subscriptionOf({ owner: 'buyer', status: 'incomplete_expired' }));
    assert.equal(await tierOf('buyer'), 'scale');
    await sendNow('customer.subscription.created', subscriptionOf({ id: 'sub_2', owner: 'buyer', tier: 'developer' }));
    assert.equal(await tierOf('buyer'), 'developer');
  });
});

describe('codes that are made', () => {
  it('trial codes that are made differ, and are stored as digests alone', async () => {
    const { create } = open();
    const codes = await create({ count: 1000 });
    assert.equal(new Set(codes).size, 1000);
    for (const code of codes) assert.match(code, /^TRIAL(?:-[0-9A-HJKMNP-TV-Z]{5}){5}-[0-9A-HJKMNP-TV-Z]$/);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ text: string }>(
      'select (select string_agg(p::text, $1) from promo_codes p) || (select string_agg(a::text, $1) from audit_log a) as text',
      ['\n'],
    );
    await client.end();
    const stored = rows[0]?.text ?? '';
    for (const code of codes.slice(0, 20)) assert.ok(!stored.toUpperCase().includes(code.slice(6, 20)));
  });

  it('trial codes are made only for plans that exist', async () => {
    await assert.rejects(open().create({ tier: 'platinum' }), ValidationError);
  });

  it('trial codes are logged with who made and who redeemed them, and without themselves', async () => {
    const { create, redeem, auditTrail, clock } = open();
    const [code = ''] = await create({ count: 3, expiresInDays: 1, trialDays: 2, tier: 'startup' });
    const { endsAt } = await redeem('logged', code);
    const made = (await auditTrail(undefined)).findLast(({ action }) => action === 'promo_codes.made');
    const expires = new Date(clock.now().getTime() + dayMs).toISOString();
    assert.deepEqual(made, {
      actor: 'operator',
      action: 'promo_codes.made',
      subject: null,
      tier: 'startup',
      trial_days: 2,
      count: 3,
      expires_at: expires,
    });
    const [changed, redeemed] = await auditTrail('logged');
    assert.deepEqual([changed?.action, changed?.actor], ['tier.changed', actor]);
    assert.match(redeemed?.subject ?? '', /^cod_/);
    assert.deepEqual(redeemed, {
      actor,
      action: 'promo.redeemed',
      subject: redeemed?.subject,
      tier: 'startup',
      trial_ends_at: endsAt.toISOString(),
    });
  });
});
