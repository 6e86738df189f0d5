import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPromoCodes, getCredits, getOwner, getUsage, grantCredits, navigate, redeemPromo } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const read = async (owner: string) => (await served.call(getOwner, { params: { owner } })).body;

describe('200', () => {
  it('GET /admin/owners/{owner} returns plan, usage and balance, each as the owner reads it', async () => {
    const key = await served.ownerKey('acme', 'free');
    await served.call(grantCredits, { body: { owner: 'acme', amount: 5 } });
    const { session_id } = await served.create({}, { key });
    await served.call(navigate, { key, params: { session_id }, body: { url: 'about:blank' } });
    const { owner, created_at, plan, usage, credits } = await read('acme');
    assert.deepEqual([owner, plan], ['acme', { tier: 'free', trial_tier: null, trial_ends_at: null }]);
    assert.ok(Date.parse(created_at) <= Date.now());
    assert.deepEqual([usage.usage.actions, usage.usage.sessions, usage.concurrency_limit], [1, 1, 3]);
    const own = (await served.call(getUsage, { key })).body;
    assert.deepEqual({ ...usage, usage: null }, { ...own, usage: null });
    assert.deepEqual(credits, (await served.call(getCredits, { key })).body);
  });

  it('GET /admin/owners/{owner} returns a running trial beside the plan', async () => {
    const { codes } = (await served.call(createPromoCodes, { body: { tier: 'scale', trial_days: 7 } })).body;
    const trial = (await served.call(redeemPromo, { key: await served.login('trying'), body: { code: codes?.[0] } })).body;
    const { plan, usage } = await read('trying');
    assert.deepEqual(plan, { tier: 'self_hosted', trial_tier: 'scale', trial_ends_at: trial.trial_ends_at });
    assert.equal(usage.tier, 'scale');
  });

  it('GET /admin/owners/{owner} returns an owner whose id needs escaping', async () => {
    await served.ownerKey('org:a|b@c.example');
    assert.equal((await read('org:a|b@c.example')).owner, 'org:a|b@c.example');
  });
});

describe('404 owner_not_found', () => {
  it('GET /admin/owners/{owner} answers 404 owner_not_found for an unknown owner, and creates none', async () => {
    for (const owner of ['nobody', 'No Such!', 'a\0b', 'x'.repeat(500)])
      for (let count = 0; count < 2; count += 1) await served.refuse(getOwner, 'owner_not_found', { params: { owner } });
  });
});
