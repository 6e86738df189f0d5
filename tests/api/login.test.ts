/** What people are told while their identity provider is away. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endpoints, listOwnKeys, listSessions } from '@berth/contract';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { goodRequest, nameOf } from '../contract-table.ts';
import { startApp, type TestApp } from '../harness.ts';
import { startIssuer, type Issuer } from '../issuer.ts';

const clock = new ManualClock();
let issuer: Issuer;
let served: TestApp;
before(async () => {
  issuer = await startIssuer(clock);
  issuer.isAway = true;
  served = await startApp({ clock, issuer });
});
after(async () => {
  await served.close();
  await issuer.close();
});

describe('while the identity provider is away', () => {
  for (const endpoint of endpoints.filter(({ auth }) => auth === 'login'))
    it(`${nameOf(endpoint)} answers login_unavailable and tells when to try again`, async () => {
      const { reply } = await served.refuse(endpoint, 'login_unavailable', goodRequest(endpoint, {}));
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
      assert.equal(reply.headers.get('x-should-retry'), 'true');
      assert.ok(!reply.text.includes(issuer.url), 'where the provider is, is nobody’s business');
    });

  it('API keys are good', async () => {
    assert.equal((await served.call(listSessions)).status, 200);
  });

  it('a text that is no login token is refused as one', async () => {
    await served.refuse(listOwnKeys, 'invalid_login_token', { key: 'nonsense' });
  });
});

describe('when the identity provider is back', () => {
  before(() => {
    issuer.isAway = false;
    clock.advance(31_000);
  });

  it('people are let in without a restart', async () => {
    assert.equal((await served.call(listOwnKeys)).status, 200);
  });

  it('they go on being let in for a while when it goes away again', async () => {
    issuer.isAway = true;
    clock.advance(60_000);
    assert.equal((await served.call(listOwnKeys)).status, 200);
  });
});
