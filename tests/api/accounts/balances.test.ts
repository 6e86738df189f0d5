/** What is left of a wallet: one figure, wherever it is read, while traffic is used that no entry of the ledger has yet. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createCreditCodes,
  createSession,
  getCredits,
  getOwner,
  grantCredits,
  listCreditEntries,
  listOwners,
  overview,
  redeemCredits,
} from '@berth/contract';
import { bytes, startSite, type Site } from '../../fetch-site.ts';
import { browse, startMeteredApp, type MeteredApp, type Owner, type TierName } from '../../prepare/metered-app.ts';

let site: Site;
before(async () => {
  site = await startSite();
  // Costs less than a tenth of a credit, at which traffic is entered.
  site.on('/bytes', bytes(Buffer.alloc(200_000, 1), 'application/octet-stream'));
});
after(() => site.close());

for (const [service, environment] of [
  ['that enforces credits', { BERTH_CREDITS_ENFORCED: 'true' }],
  ['that only counts them', {}],
] as const)
  describe(`an owner with traffic that is not charged yet, at a service ${service}`, () => {
    let app: MeteredApp;
    before(async () => {
      app = await startMeteredApp({ environment });
    });
    after(() => app.close());

    /** An owner with a session and traffic of some 0.04 credits. */
    async function browsing(tier: TierName, credits: number): Promise<Owner & { left: number }> {
      const owner = await app.newOwner(tier, credits);
      const { session_id } = await app.create({}, { key: owner.key });
      await browse(app, session_id, `${site.url}/bytes`);
      return { ...owner, left: await app.balance(owner.key) };
    }
    const walletOf = async ({ owner }: Owner) => (await app.app.credits.wallet(owner)).balance / 1e6;
    const rounded = (credits: number): number => Math.round(credits * 1e6) / 1e6;

    it(`GET /v1/credits returns the balance without traffic that is not charged yet, at a service ${service}`, async () => {
      const owner = await browsing('open', 5);
      assert.equal(await walletOf(owner), 4);
      assert.ok(owner.left < 3.96, String(owner.left));
      const { body: entries } = await app.call(listCreditEntries, { key: owner.key });
      assert.deepEqual(
        entries.map(({ type }) => type),
        ['session', 'grant'],
      );
    });

    it(`redeeming a code returns the balance without traffic that is not charged yet, at a service ${service}`, async () => {
      const owner = await browsing('open', 5);
      const { body } = await app.call(createCreditCodes, { body: { amount: 2 } });
      const redeemed = await app.call(redeemCredits, { key: owner.key, body: { code: body.codes?.[0] ?? '' } });
      assert.deepEqual(redeemed.body, { ok: true, granted: 2, balance: rounded(owner.left + 2) });
    });

    it(`granting credits and taking them back returns the balance without traffic that is not charged yet, at a service ${service}`, async () => {
      const owner = await browsing('open', 5);
      const grant = async (amount: number) => (await app.call(grantCredits, { body: { owner: owner.owner, amount } })).body.balance;
      assert.equal(await grant(3), rounded(owner.left + 3));
      assert.equal(await grant(-3), owner.left);
      const { details, message } = await app.refuse(grantCredits, 'insufficient_credits', { body: { owner: owner.owner, amount: -4.5 } });
      assert.deepEqual(details, { balance: owner.left, available: owner.left, required: 4.5 });
      assert.match(message, new RegExp(`Only ${owner.left} credits`));
    });

    it(`the operator lists the balance without traffic that is not charged yet, alone, among others and in the sum of all, at a service ${service}`, async () => {
      const before = (await app.call(overview)).body.credits;
      const owner = await browsing('open', 5);
      const { body: alone } = await app.call(getOwner, { params: { owner: owner.owner } });
      assert.equal(alone.credits.balance, owner.left);
      const { body: all } = await app.call(listOwners, { query: { limit: '100' } });
      assert.equal(all.find((item) => item.owner === owner.owner)?.balance, owner.left);
      const { credits } = (await app.call(overview)).body;
      assert.deepEqual(
        [rounded(credits.balance - before.balance), rounded(credits.granted - before.granted), rounded(credits.spent - before.spent)],
        [owner.left, 5, rounded(5 - owner.left)],
      );
    });

    it(`the balance does not change when the traffic is charged, at a service ${service}`, async () => {
      const owner = await browsing('open', 5);
      await app.app.metering.flushing.stop();
      for (const { meter } of app.app.sessions.live.values()) if (meter.owner === owner.owner) await meter.close();
      assert.equal(await walletOf(owner), owner.left);
      assert.equal(await app.balance(owner.key), owner.left);
    });
  });

describe('a refusal for want of credits', () => {
  let app: MeteredApp;
  before(async () => {
    app = await startMeteredApp({ environment: { BERTH_CREDITS_ENFORCED: 'true' } });
  });
  after(() => app.close());

  it('a refusal for want of credits names the balance without traffic that is not charged yet', async () => {
    const { owner, key } = await app.newOwner('open', 1.5);
    const { session_id } = await app.create({}, { key });
    await browse(app, session_id, `${site.url}/bytes`);
    const left = await app.balance(key);
    assert.ok(left < 0.46, String(left));
    const { details, message } = await app.refuse(createSession, 'insufficient_credits', { key, body: {} });
    assert.deepEqual(details, { balance: left, available: left, required: 1 });
    assert.match(message, new RegExp(`1 required, ${left} available`));
    assert.equal((await app.call(getCredits, { key })).body.balance, left, owner);
  });

  it('a refusal for want of credits reports what is held for calls under way apart from what is left', async () => {
    const { owner, key } = await app.newOwner('open', 2.5);
    const { session_id } = await app.create({}, { key });
    await browse(app, session_id, `${site.url}/bytes`);
    const held = await app.app.metering.admit(owner, { axis: 'captcha' });
    const left = await app.balance(key);
    const { details } = await app.refuse(createSession, 'insufficient_credits', { key, body: {} });
    assert.deepEqual(details, { balance: left, available: Math.round((left - 1) * 1e6) / 1e6, required: 1 });
    await held.drop();
  });
});
