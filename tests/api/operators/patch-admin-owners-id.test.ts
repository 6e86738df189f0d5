import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPromoCodes, createSession, getUsage, listAudit, redeemPromo, updateOwner } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const assign = (owner: string, tier: string) => served.call(updateOwner, { params: { owner }, body: { tier } });

describe('200', () => {
  it('PATCH /admin/owners/{owner} sets the plan, which applies to the next request, and writes it down', async () => {
    const key = await served.ownerKey('acme', 'free');
    assert.equal((await served.call(getUsage, { key })).body.concurrency_limit, 3);
    const { body } = await assign('acme', 'scale');
    assert.deepEqual([body.owner, body.plan.tier, body.usage.tier, body.usage.concurrency_limit], ['acme', 'scale', 'scale', 250]);
    const created = await served.call(createSession, { key, body: { timeout_seconds: 86_400 } });
    assert.equal(created.status, 201, created.text);
    const [entry] = (await served.call(listAudit, { query: { owner: 'acme', action: 'tier.changed' } })).body;
    assert.deepEqual([entry?.actor, entry?.details], ['operator', { from: 'free', to: 'scale', why: 'assigned' }]);
  });

  it('PATCH /admin/owners/{owner} changes nothing where the plan is the same', async () => {
    await served.ownerKey('same', 'startup');
    const count = async () => (await served.call(listAudit, { query: { owner: 'same' } })).body.length;
    const before = await count();
    assert.equal((await assign('same', 'startup')).body.plan.tier, 'startup');
    assert.equal(await count(), before);
  });

  it('PATCH /admin/owners/{owner} ends a running trial', async () => {
    const { codes } = (await served.call(createPromoCodes, { body: { tier: 'scale', trial_days: 7 } })).body;
    await served.call(redeemPromo, { key: await served.login('trying'), body: { code: codes?.[0] } });
    const { plan, usage } = (await assign('trying', 'developer')).body;
    assert.deepEqual([plan, usage.tier], [{ tier: 'developer', trial_tier: null, trial_ends_at: null }, 'developer']);
  });
});

describe('404 owner_not_found', () => {
  it('PATCH /admin/owners/{owner} answers 404 owner_not_found for an unknown owner, and creates none', async () => {
    for (const owner of ['nobody', 'No Such!', 'a\0b', 'x'.repeat(500)])
      for (let count = 0; count < 2; count += 1)
        await served.refuse(updateOwner, 'owner_not_found', { params: { owner }, body: { tier: 'scale' } });
  });
});

describe('422', () => {
  it('PATCH /admin/owners/{owner} refuses a plan that does not exist with 422, and names those that do', async () => {
    await served.ownerKey('picky', 'free');
    const [issue] = await served.issues(updateOwner, { params: { owner: 'picky' }, body: { tier: 'platinum' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'tier'], 'literal_error']);
    assert.match(String(issue?.ctx?.['expected']), /'free'.*'scale'/);
    for (const body of [{}, { tier: '' }, { tier: 1 }, { tier: 'free', colour: 'red' }])
      assert.ok((await served.issues(updateOwner, { params: { owner: 'picky' }, body })).length > 0);
  });
});
