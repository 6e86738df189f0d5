import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getUsage, listPlans } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /admin/plans lists the plans with their limits, as owners of them read them', async () => {
    const { body } = await served.call(listPlans);
    assert.deepEqual(
      body.filter((plan) => plan.default).map(({ tier }) => tier),
      ['self_hosted'],
    );
    const scale = body.find(({ tier }) => tier === 'scale') ?? assert.fail();
    const usage = (await served.call(getUsage, { key: await served.ownerKey('acme', 'scale') })).body;
    const { limits, concurrency_limit, premium_egress, overage_allowed, enforced } = usage;
    assert.deepEqual(
      { limits, concurrency_limit, premium_egress, overage_allowed, enforced },
      {
        limits: scale.limits,
        concurrency_limit: scale.concurrency_limit,
        premium_egress: scale.premium_egress,
        overage_allowed: scale.overage_allowed,
        enforced: scale.enforced,
      },
    );
  });

  it('GET /admin/plans counts the owners of each plan', async () => {
    await Promise.all(['one', 'two'].map((owner) => served.ownerKey(owner, 'developer')));
    const { body } = await served.call(listPlans);
    assert.deepEqual(
      body.filter(({ tier }) => ['developer', 'self_hosted', 'free'].includes(tier)).map(({ tier, owners }) => [tier, owners]),
      [
        ['free', 0],
        ['developer', 2],
        ['self_hosted', 1],
      ],
    );
  });
});
