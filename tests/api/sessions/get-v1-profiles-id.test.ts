import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, getProfile } from '@berth/contract';
import { comparable, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const create = (name: string, key = served.key) => served.call(createSession, { key, body: { profile: { name, save_changes: true } } });

describe('200', () => {
  it('GET /v1/profiles/{profile_id} returns a profile by its name or its id', async () => {
    const { body: session } = await create('two words');
    const byName = await served.call(getProfile, { params: { profile_id: 'two words' } });
    assert.deepEqual([byName.body.name, byName.body.writer_session_id], ['two words', session.session_id]);
    const byId = await served.call(getProfile, { params: { profile_id: byName.body.profile_id } });
    assert.deepEqual(byId.body, byName.body);
  });
});

describe('404 profile_not_found', () => {
  it('GET /v1/profiles/{profile_id} answers 404 profile_not_found for foreign, unknown and malformed ids and names identically', async () => {
    const key = await served.ownerKey('victim');
    await create('theirs', key);
    const { profile_id } = (await served.call(getProfile, { key, params: { profile_id: 'theirs' } })).body;
    const ids = [profile_id, 'theirs', 'pro_000000000000000000000000', 'pro_', '../profiles', "x' OR 1=1", 'a'.repeat(200), '💥'];
    const replies = await Promise.all(
      ids.map(async (id) => (await served.refuse(getProfile, 'profile_not_found', { params: { profile_id: id } })).reply),
    );
    assert.equal(new Set(replies.map(comparable)).size, 1);
  });
});
