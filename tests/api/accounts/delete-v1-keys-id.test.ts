import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createOwnKey, listAudit, listKeys, listSessions, revokeOwnKey } from '@berth/contract';
import { comparable, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('DELETE /v1/keys/{key_id} revokes only this key from the next request on', async () => {
    const key = await served.login('acme');
    const first = (await served.call(createOwnKey, { key })).body;
    const second = (await served.call(createOwnKey, { key })).body;
    assert.equal((await served.call(listSessions, { key: first.key ?? '' })).status, 200);
    const { body } = await served.call(revokeOwnKey, { key, params: { key_id: first.key_id } });
    assert.deepEqual([body.key_id, body.status], [first.key_id, 'revoked']);
    await served.refuse(listSessions, 'invalid_api_key', { key: first.key ?? '' });
    assert.equal((await served.call(listSessions, { key: second.key ?? '' })).status, 200);
    const [listed] = (await served.call(listKeys, { query: { owner: 'acme' } })).body.filter(({ key_id }) => key_id === first.key_id);
    assert.deepEqual([listed?.status, listed?.revoked_at], ['revoked', body.revoked_at]);
  });

  it('DELETE /v1/keys/{key_id} is idempotent to the byte with one audit entry', async () => {
    const key = await served.login('twice');
    const { key_id } = (await served.call(createOwnKey, { key })).body;
    const first = await served.call(revokeOwnKey, { key, params: { key_id } });
    const second = await served.call(revokeOwnKey, { key, params: { key_id } });
    assert.equal(comparable(second), comparable(first));
    const { body } = await served.call(listAudit, { query: { owner: 'twice', action: 'key.revoked' } });
    assert.deepEqual(
      body.map(({ actor, subject }) => [actor, subject]),
      [['login:ada@example.com', key_id]],
    );
  });

  it('DELETE /v1/keys/{key_id} revokes keys created by the operator and by a colleague', async () => {
    await served.ownerKey('team');
    await served.call(createOwnKey, { key: await served.login('team', 'ben@example.com') });
    const key = await served.login('team', 'ada@example.com');
    for (const { key_id } of (await served.call(listKeys, { query: { owner: 'team' } })).body)
      assert.equal((await served.call(revokeOwnKey, { key, params: { key_id } })).status, 200);
  });
});

describe('404 key_not_found', () => {
  it('DELETE /v1/keys/{key_id} answers 404 key_not_found for foreign, unknown and malformed ids identically', async () => {
    const { key: raw, key_id: foreign } = (await served.call(createOwnKey, { key: await served.login('victim') })).body;
    const key = await served.login('stranger');
    const ids = [foreign, 'key_000000000000000000000000', 'nothing', '../keys', "x' OR 1=1", 'a'.repeat(200)];
    const replies = await Promise.all(
      ids.map(async (key_id) => (await served.refuse(revokeOwnKey, 'key_not_found', { key, params: { key_id } })).reply),
    );
    assert.equal(new Set(replies.map(comparable)).size, 1);
    assert.equal((await served.call(listSessions, { key: raw ?? '' })).status, 200);
  });
});
