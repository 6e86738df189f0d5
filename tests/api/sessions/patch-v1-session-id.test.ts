import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, updateSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('PATCH /v1/session/{session_id} changes only the given fields', async () => {
    const { session_id } = await served.create({ name: 'first', metadata: { a: '1' }, timeout_seconds: 600 });
    const { body } = await served.call(updateSession, { params: { session_id }, body: { metadata: { b: '2' } } });
    assert.deepEqual([body.name, body.metadata, body.timeout_seconds, body.idle_timeout_seconds], ['first', { b: '2' }, 600, 300]);
    const read = await served.call(getSession, { params: { session_id } });
    assert.deepEqual(read.body.metadata, { b: '2' });
  });

  it('PATCH /v1/session/{session_id} counts a new lifetime from creation', async () => {
    const { session_id, created_at } = await served.create();
    const { body } = await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 3600 } });
    assert.equal(Date.parse(body.expires_at) - Date.parse(created_at), 3_600_000);
  });

  it('PATCH /v1/session/{session_id} shortens the idle time with the lifetime', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 60 } });
    assert.deepEqual([body.timeout_seconds, body.idle_timeout_seconds], [60, 60]);
  });

  it('PATCH /v1/session/{session_id} removes a name with null and frees it', async () => {
    const { session_id } = await served.create({ name: 'lent' });
    assert.equal((await served.call(updateSession, { params: { session_id }, body: { name: null } })).body.name, null);
    assert.equal((await served.create({ name: 'lent' })).name, 'lent');
  });

  it('PATCH /v1/session/{session_id} accepts an empty change', async () => {
    const session = await served.create({ name: 'same' });
    const { body } = await served.call(updateSession, { params: { session_id: session.session_id }, body: {} });
    assert.deepEqual([body.name, body.expires_at], ['same', session.expires_at]);
  });
});

describe('409 name_taken', () => {
  it('PATCH /v1/session/{session_id} refuses the name of another live session with 409 name_taken and changes nothing', async () => {
    await served.create({ name: 'taken' });
    const { session_id } = await served.create({ name: 'other' });
    await served.refuse(updateSession, 'name_taken', { params: { session_id }, body: { name: 'taken', metadata: { a: 'b' } } });
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.name, body.metadata], ['other', {}]);
  });

  it('PATCH /v1/session/{session_id} accepts the session’s own name', async () => {
    const { session_id } = await served.create({ name: 'own' });
    assert.equal((await served.call(updateSession, { params: { session_id }, body: { name: 'own' } })).body.name, 'own');
  });
});

describe('422', () => {
  it('PATCH /v1/session/{session_id} refuses an idle time above the session’s lifetime with 422', async () => {
    const { session_id } = await served.create({ timeout_seconds: 100 });
    const [issue] = await served.issues(updateSession, { params: { session_id }, body: { idle_timeout_seconds: 101 } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.ctx], [['body', 'idle_timeout_seconds'], 'less_than_equal', { le: 100 }]);
  });

  it('PATCH /v1/session/{session_id} refuses a lifetime above the plan’s maximum with 422', async () => {
    const key = await served.ownerKey('free-rider', 'free');
    const { session_id } = await served.create({}, { key });
    const [issue] = await served.issues(updateSession, { key, params: { session_id }, body: { timeout_seconds: 86_400 } });
    assert.deepEqual([issue?.loc, issue?.ctx], [['body', 'timeout_seconds'], { le: 900 }]);
  });

  it('PATCH /v1/session/{session_id} refuses what cannot be changed with 422', async () => {
    const { session_id } = await served.create();
    const issues = await served.issues(updateSession, { params: { session_id }, body: { keep_alive: false, region: 'local' } });
    assert.deepEqual(issues.map(({ type, loc }) => `${loc[1]} ${type}`).toSorted(), [
      'keep_alive extra_forbidden',
      'region extra_forbidden',
    ]);
  });
});
