/** Responses while the identity provider is unavailable. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endpoints, listOwnKeys, listSessions } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { goodRequest, nameOf } from '../contract/contract-table.ts';
import { startApp, type TestApp } from '../harness.ts';
import { startIssuer, type Issuer } from '../services/issuer.ts';

const clock = new ManualClock();
let issuer: Issuer;
let served: TestApp;
before(async () => {
  issuer = await startIssuer(clock);
  issuer.isUnavailable = true;
  served = await startApp({ clock, issuer });
});
after(async () => {
  await served.close();
  await issuer.close();
});

describe('while the identity provider is unavailable', () => {
  for (const endpoint of endpoints.filter(({ auth }) => auth === 'login'))
    it(`${nameOf(endpoint)} answers login_unavailable with retry_after while the identity provider is unavailable`, async () => {
      const { reply } = await served.refuse(endpoint, 'login_unavailable', goodRequest(endpoint, {}));
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
      assert.equal(reply.headers.get('x-should-retry'), 'true');
      assert.ok(!reply.text.includes(issuer.url), 'the provider address is not revealed');
    });

  it('API keys work while the identity provider is unavailable', async () => {
    assert.equal((await served.call(listSessions)).status, 200);
  });

  it('a malformed login token is refused while the identity provider is unavailable', async () => {
    await served.refuse(listOwnKeys, 'invalid_login_token', { key: 'nonsense' });
  });
});

describe('when the identity provider is available again', () => {
  before(() => {
    issuer.isUnavailable = false;
    clock.advance(31_000);
  });

  it('sign-in works without a restart when the identity provider is available again', async () => {
    assert.equal((await served.call(listOwnKeys)).status, 200);
  });

  it('sign-in works for a while when the identity provider becomes unavailable again', async () => {
    issuer.isUnavailable = true;
    clock.advance(60_000);
    assert.equal((await served.call(listOwnKeys)).status, 200);
  });
});

describe('a signing key of the identity provider', () => {
  /** The service asks for keys at most so often, and uses what it knows for at most so long. */
  const [coolDownMs, maxAgeMs] = [31_000, 10 * 60_000 + 1000];

  it('a signing key of the identity provider may be exchanged: the new one is accepted soon, and a withdrawn one is refused within ten minutes', async () => {
    issuer.isUnavailable = false;
    clock.advance(maxAgeMs);
    assert.equal((await served.call(listOwnKeys)).status, 200);
    const signBefore = await issuer.rotate();
    clock.advance(coolDownMs);
    const status = async (key: string): Promise<number> => (await served.call(listOwnKeys, { key })).status;
    assert.deepEqual([await status(await issuer.token()), await status(await signBefore())], [200, 200], 'both are published');

    issuer.withdraw();
    clock.advance(maxAgeMs);
    assert.equal(await status(await issuer.token()), 200);
    await served.refuse(listOwnKeys, 'invalid_login_token', { key: await signBefore() });
    // Who has the old key names the new one, or none.
    await served.refuse(listOwnKeys, 'invalid_login_token', { key: await signBefore({}, { kid: 'key-2' }) });
    await served.refuse(listOwnKeys, 'invalid_login_token', { key: await signBefore({}, { kid: undefined }) });
  });

  it('a signing key that was never published is refused, and costs no other caller their sign-in', async () => {
    const other = await startIssuer(clock);
    try {
      const claims = { iss: issuer.url };
      for (let n = 0; n < 20; n += 1)
        await served.refuse(listOwnKeys, 'invalid_login_token', { key: await other.token(claims, { kid: `made-up-${n}` }) });
      assert.equal((await served.call(listOwnKeys)).status, 200);
    } finally {
      await other.close();
    }
  });
});
