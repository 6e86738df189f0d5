import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, deleteProfile, endSession, getProfile, getSession, listAudit } from '@berth/contract';
import { comparable, eventually, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const start = async (name: string, save_changes: boolean, key = served.key): Promise<string> =>
  (await served.call(createSession, { key, body: { profile: { name, save_changes } } })).body.session_id;
const remove = (profile_id: string) => served.call(deleteProfile, { params: { profile_id } });
/** Returns the id of the saved profile of a session that has ended. */
async function saved(name: string, key = served.key): Promise<string> {
  const session_id = await start(name, true, key);
  await served.call(endSession, { key, params: { session_id } });
  const read = async () => (await served.call(getProfile, { key, params: { profile_id: name } })).body;
  await eventually('the profile is saved', async () => (await read()).version === 1);
  return (await read()).profile_id;
}

describe('204', () => {
  it('DELETE /v1/profiles/{profile_id} deletes a profile, under sessions that read it, and frees its name', async () => {
    const profileId = await saved('mine');
    const reader = await start('mine', false);
    assert.equal((await remove(profileId)).status, 204);
    await served.refuse(getProfile, 'profile_not_found', { params: { profile_id: profileId } });
    const { body } = await served.call(getSession, { params: { session_id: reader } });
    assert.deepEqual([body.status, body.profile?.name], ['ready', 'mine']);
    const { body: trail } = await served.call(listAudit, { query: { action: 'profile.deleted', limit: '1' } });
    assert.deepEqual([trail[0]?.subject, trail[0]?.actor.startsWith('key:'), trail[0]?.details], [profileId, true, { name: 'mine' }]);
    assert.notEqual(await saved('mine'), profileId);
  });
});

describe('404 profile_not_found', () => {
  it('DELETE /v1/profiles/{profile_id} answers 404 profile_not_found for foreign, unknown and deleted ones identically', async () => {
    const key = await served.ownerKey('victim');
    const foreign = await saved('theirs', key);
    const deleted = await saved('gone');
    await remove('gone');
    const replies = await Promise.all(
      [foreign, 'theirs', deleted, 'gone', 'pro_000000000000000000000000', '../profiles'].map(
        async (profile_id) => (await served.refuse(deleteProfile, 'profile_not_found', { params: { profile_id } })).reply,
      ),
    );
    assert.equal(new Set(replies.map(comparable)).size, 1);
    assert.equal((await served.call(getProfile, { key, params: { profile_id: foreign } })).status, 200);
  });
});

describe('409 profile_locked', () => {
  it('DELETE /v1/profiles/{profile_id} answers 409 profile_locked while a session is to save it', async () => {
    const session_id = await start('busy', true);
    const { details } = await served.refuse(deleteProfile, 'profile_locked', { params: { profile_id: 'busy' } });
    assert.deepEqual(details, { session_id });
    assert.equal((await served.call(getProfile, { params: { profile_id: 'busy' } })).status, 200);
  });
});
