import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverVersionByPath, listAudit, listConnectTokens, revokeConnectToken } from '@berth/contract';
import { comparable, startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const create = async (key: string = served.key) => (await served.call(createConnectToken, { key })).body;
const revoke = (token_id: string, key: string = served.key) => served.call(revokeConnectToken, { key, params: { token_id } });

describe('204', () => {
  it('DELETE /v1/connect-tokens/{token_id} revokes only this token, from the next request on', async () => {
    const [one, other] = [await create(), await create()];
    assert.equal((await revoke(one.token_id)).status, 204);
    await served.refuse(discoverVersionByPath, 'invalid_connect_token', { params: { token: one.token ?? '' } });
    assert.equal((await served.call(discoverVersionByPath, { params: { token: other.token ?? '' } })).status, 200);
    const { body } = await served.call(listAudit, { query: { action: 'connect_token.revoked', limit: '1' } });
    assert.deepEqual([body[0]?.subject, body[0]?.actor], [one.token_id, `key:${one.key_id}`]);
  });

  it('DELETE /v1/connect-tokens/{token_id} closes the connections of this token with 4003 unauthorized, and those of others stay', async () => {
    const [one, other] = [await create(), await create()];
    const [mine, theirs] = await Promise.all([openSocket(one.cdp_url ?? ''), openSocket(other.cdp_url ?? '')]);
    const byKey = await openSocket(`${served.url.replace('http', 'ws')}/v1/connect`, { authorization: `Bearer ${served.key}` });
    await revoke(one.token_id);
    assert.deepEqual(await mine.closed, { code: 4003, reason: 'unauthorized' });
    for (const { send, socket } of [theirs, byKey]) {
      await send('Browser.getVersion');
      socket.terminate();
    }
  });
});

describe('404 connect_token_not_found', () => {
  it('DELETE /v1/connect-tokens/{token_id} answers 404 connect_token_not_found for foreign, unknown, malformed and revoked ids identically', async () => {
    const victim = await served.ownerKey('victim');
    const [foreign, revoked] = [await create(victim), await create()];
    await revoke(revoked.token_id);
    const ids = [
      foreign.token_id,
      revoked.token_id,
      'tok_000000000000000000000000',
      'nothing',
      '../connect-tokens',
      "x' OR 1=1",
      'a'.repeat(200),
    ];
    const replies = await Promise.all(
      ids.map(async (token_id) => (await served.refuse(revokeConnectToken, 'connect_token_not_found', { params: { token_id } })).reply),
    );
    assert.equal(new Set(replies.map(comparable)).size, 1);
    assert.equal((await served.call(listConnectTokens, { key: victim })).body.length, 1);
    assert.equal((await served.call(discoverVersionByPath, { params: { token: foreign.token ?? '' } })).status, 200);
  });
});
