import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getCredits, getSession, grantCredits, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let enforcing: TestApp;
before(async () => {
  served = await startApp();
  enforcing = await startApp({ environment: { BERTH_CREDITS_ENFORCED: 'true' } });
});
after(() => Promise.all([served.close(), enforcing.close()]));

const cost = { action: 0.01, captcha: 1, egress_mb: 0.2, session: 1 };
const blank = { url: 'about:blank' };

describe('200', () => {
  it('GET /v1/credits returns the wallet and the prices, also to an owner without credits', async () => {
    const { body } = await served.call(getCredits, { key: await served.ownerKey('penniless') });
    assert.deepEqual(body, { owner: 'penniless', balance: 0, enforced: false, cost });
  });

  it('GET /v1/credits is used up, and not below zero, when credits are not enforced', async () => {
    const key = await served.ownerKey('free-rider');
    await served.call(grantCredits, { body: { owner: 'free-rider', amount: 0.5 } });
    const { session_id } = await served.create({}, { key });
    await served.call(navigate, { key, params: { session_id }, body: blank });
    assert.equal((await served.call(getCredits, { key })).body.balance, 0);
    const running = (await served.call(getSession, { key, params: { session_id } })).body;
    assert.deepEqual([running.status, running.usage.credits], ['ready', 1.01]);
    await served.call(endSession, { key, params: { session_id } });
    assert.equal((await served.call(getCredits, { key })).body.balance, 0);
  });

  it('GET /v1/credits is charged immediately when credits are enforced', async () => {
    const key = await enforcing.ownerKey('prepaid');
    await enforcing.call(grantCredits, { body: { owner: 'prepaid', amount: 1.015 } });
    const { session_id } = await enforcing.create({}, { key });
    await enforcing.call(navigate, { key, params: { session_id }, body: blank });
    const { body } = await enforcing.call(getCredits, { key });
    assert.deepEqual(body, { owner: 'prepaid', balance: 0.005, enforced: true, cost });
    const { details } = await enforcing.refuse(navigate, 'insufficient_credits', { key, params: { session_id }, body: blank });
    assert.deepEqual(details, { balance: 0.005, available: 0.005, required: 0.01 });
  });

  it('GET /v1/credits is not enforced on a plan with overdraft', async () => {
    const key = await enforcing.ownerKey('scaling', 'scale');
    const { session_id } = await enforcing.create({}, { key });
    await enforcing.call(navigate, { key, params: { session_id }, body: blank });
    const { body } = await enforcing.call(getCredits, { key });
    assert.deepEqual([body.enforced, body.balance], [false, -1.01]);
  });
});
