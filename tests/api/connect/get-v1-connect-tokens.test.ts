import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverVersionByPath, listConnectTokens, revokeConnectToken } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const list = async (key?: string) => (await served.call(listConnectTokens, key === undefined ? {} : { key })).body;

describe('200', () => {
  it('GET /v1/connect-tokens lists only the caller’s tokens, newest first, without secrets', async () => {
    const key = await served.ownerKey('lister');
    const made = [];
    for (const name of ['one', 'two']) {
      made.push((await served.call(createConnectToken, { key, body: { name } })).body);
      clock.advance(1000);
    }
    await served.call(createConnectToken);
    const { body, text } = await served.call(listConnectTokens, { key });
    assert.deepEqual(
      body.map(({ token_id, name, status }) => [token_id, name, status]),
      made.toReversed().map(({ token_id, name }) => [token_id, name, 'active']),
    );
    for (const { token } of made) assert.ok(token !== null && !text.includes(token));
  });

  it('GET /v1/connect-tokens says when a token was last used, to the minute', async () => {
    const key = await served.ownerKey('user');
    const { token } = (await served.call(createConnectToken, { key })).body;
    await served.call(discoverVersionByPath, { params: { token: token ?? '' } });
    const at = clock.now().toISOString();
    await eventually('the use is stored', async () => (await list(key))[0]?.last_used_at === at);
  });

  it('GET /v1/connect-tokens says which tokens are expired and whose API key is revoked, and none that is revoked itself', async () => {
    const { key, raw } = await served.app.keys.create({
      owner: 'mixed',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const other = await served.ownerKey('mixed');
    const make = async (by: string, body = {}) => (await served.call(createConnectToken, { key: by, body })).body.token_id;
    const [ofKey, expired, good, revoked] = [
      await make(raw),
      await make(other, { expires_in_days: 1 }),
      await make(other),
      await make(other),
    ];
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    await served.call(revokeConnectToken, { key: other, params: { token_id: revoked } });
    clock.advance(86_400_000);
    assert.deepEqual(Object.fromEntries((await list(other)).map(({ token_id, status }) => [token_id, status])), {
      [ofKey]: 'key_revoked',
      [expired]: 'expired',
      [good]: 'active',
    });
  });
});
