import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, listKeys, listSessions, revokeKey } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('204', () => {
  it('DELETE /admin/keys/{key_id} revokes only this key from the next request on', async () => {
    const first = (await served.call(createKey, { body: { owner: 'acme' } })).body;
    const second = (await served.call(createKey, { body: { owner: 'acme' } })).body;
    assert.equal((await served.call(listSessions, { key: first.key ?? '' })).status, 200);
    await served.call(revokeKey, { params: { key_id: first.key_id } });
    await served.refuse(listSessions, 'invalid_api_key', { key: first.key ?? '' });
    assert.equal((await served.call(listSessions, { key: second.key ?? '' })).status, 200);
  });

  it('DELETE /admin/keys/{key_id} is idempotent and keeps the first revocation time', async () => {
    const { key_id } = (await served.call(createKey, { body: { owner: 'twice' } })).body;
    await served.call(revokeKey, { params: { key_id } });
    const [before] = (await served.call(listKeys, { query: { owner: 'twice' } })).body;
    await served.call(revokeKey, { params: { key_id } });
    assert.deepEqual((await served.call(listKeys, { query: { owner: 'twice' } })).body, [before]);
  });

  it('DELETE /admin/keys/{key_id} keeps the owner’s sessions running', async () => {
    const { key, key_id } = (await served.call(createKey, { body: { owner: 'leaver' } })).body;
    const { session_id } = await served.create({}, { key: key ?? '' });
    await served.call(revokeKey, { params: { key_id } });
    assert.equal(served.app.sessions.live.get(session_id)?.status, 'ready');
  });
});

describe('404 key_not_found', () => {
  it('DELETE /admin/keys/{key_id} answers 404 key_not_found for an unknown id', async () => {
    for (const key_id of ['key_000000000000000000000000', 'nothing', '../keys', "x' OR 1=1"])
      await served.refuse(revokeKey, 'key_not_found', { params: { key_id } });
  });
});
