import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError, type ErrorCode } from '@berth/contract';
import type { Credentials, Guard } from '../principals/principals.ts';
import { adminGuard, metricsGuard } from './owners.ts';

const adminKey = 'admin-key-0123456789abcdef0123456789';
const metricsToken = 'metrics-token-0123456789abcdef012345';
const nothing: Credentials = { authorization: undefined, adminKey: undefined, token: undefined, viewCookies: [], params: {} };

/** The code of the refusal; null where the caller is let in. */
async function refusal(guard: Guard, credentials: Partial<Credentials>): Promise<ErrorCode | null> {
  try {
    await guard({ ...nothing, ...credentials });
    return null;
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    for (const secret of [adminKey, metricsToken]) assert.ok(!error.message.includes(secret));
    return error.code;
  }
}

describe('an admin endpoint', () => {
  it('an admin endpoint is for the admin key alone', async () => {
    const guard = adminGuard(adminKey);
    assert.equal(await refusal(guard, { adminKey }), null);
    assert.equal(await refusal(guard, {}), 'missing_admin_key');
    assert.equal(await refusal(guard, { adminKey: '' }), 'missing_admin_key');
    for (const wrong of [adminKey.slice(0, -1), `${adminKey}x`, adminKey.toUpperCase(), metricsToken])
      assert.equal(await refusal(guard, { adminKey: wrong }), 'invalid_admin_key');
  });
});

describe('the metrics', () => {
  it('the metrics are for their token alone where there is one', async () => {
    const guard = metricsGuard({ metricsToken, adminKey });
    assert.equal(await refusal(guard, { authorization: `Bearer ${metricsToken}` }), null);
    assert.equal(await refusal(guard, { authorization: `bearer  ${metricsToken} ` }), null);
    assert.equal(await refusal(guard, {}), 'missing_metrics_token');
    assert.equal(await refusal(guard, { adminKey }), 'missing_metrics_token');
    assert.equal(await refusal(guard, { authorization: `Basic ${metricsToken}` }), 'missing_metrics_token');
    for (const wrong of [metricsToken.slice(0, -1), `${metricsToken}x`, adminKey])
      assert.equal(await refusal(guard, { authorization: `Bearer ${wrong}`, adminKey }), 'invalid_metrics_token');
  });

  it('the metrics are for the admin key where there is no token', async () => {
    const guard = metricsGuard({ metricsToken: null, adminKey });
    assert.equal(await refusal(guard, { adminKey }), null);
    assert.equal(await refusal(guard, {}), 'missing_admin_key');
    assert.equal(await refusal(guard, { authorization: `Bearer ${adminKey}` }), 'missing_admin_key');
    assert.equal(await refusal(guard, { adminKey: metricsToken }), 'invalid_admin_key');
  });
});
