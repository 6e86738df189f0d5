import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, updateSession } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { endedSession } from '../session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('changes what is named and leaves the rest as it was', async () => {
    const { session_id } = await served.create({ name: 'first', metadata: { a: '1' }, timeout_seconds: 600 });
    const { body } = await served.call(updateSession, { params: { session_id }, body: { metadata: { b: '2' } } });
    assert.deepEqual([body.name, body.metadata, body.timeout_seconds, body.idle_timeout_seconds], ['first', { b: '2' }, 600, 300]);
    const read = await served.call(getSession, { params: { session_id } });
    assert.deepEqual(read.body.metadata, { b: '2' });
  });

  it('counts a new lifetime from the creation', async () => {
    const { session_id, created_at } = await served.create();
    const { body } = await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 3600 } });
    assert.equal(Date.parse(body.expires_at) - Date.parse(created_at), 3_600_000);
  });

  it('shortens the idle time along with the lifetime', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 60 } });
    assert.deepEqual([body.timeout_seconds, body.idle_timeout_seconds], [60, 60]);
  });

  it('takes a name away with null, and it is free for another session', async () => {
    const { session_id } = await served.create({ name: 'lent' });
    assert.equal((await served.call(updateSession, { params: { session_id }, body: { name: null } })).body.name, null);
    assert.equal((await served.create({ name: 'lent' })).name, 'lent');
  });

  it('takes an empty change', async () => {
    const session = await served.create({ name: 'same' });
    const { body } = await served.call(updateSession, { params: { session_id: session.session_id }, body: {} });
    assert.deepEqual([body.name, body.expires_at], ['same', session.expires_at]);
  });
});

describe('404 session_not_found', () => {
  it('is the answer to a change of what never was', async () => {
    await served.refuse(updateSession, 'session_not_found', { params: { session_id: 'ses_none' }, body: { name: 'x' } });
  });
});

describe('409 session_ended', () => {
  it('tells why the session is over', async () => {
    const session_id = await endedSession(served);
    const { details } = await served.refuse(updateSession, 'session_ended', { params: { session_id }, body: { name: 'late' } });
    assert.equal(details['ended_reason'], 'requested');
  });
});

describe('409 name_taken', () => {
  it('refuses the name of another live session and changes nothing', async () => {
    await served.create({ name: 'taken' });
    const { session_id } = await served.create({ name: 'other' });
    await served.refuse(updateSession, 'name_taken', { params: { session_id }, body: { name: 'taken', metadata: { a: 'b' } } });
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.name, body.metadata], ['other', {}]);
  });

  it('lets a session keep its own name', async () => {
    const { session_id } = await served.create({ name: 'own' });
    assert.equal((await served.call(updateSession, { params: { session_id }, body: { name: 'own' } })).body.name, 'own');
  });
});

describe('422', () => {
  it('refuses an idle time above the lifetime that the session has', async () => {
    const { session_id } = await served.create({ timeout_seconds: 100 });
    const [fault] = await served.faults(updateSession, { params: { session_id }, body: { idle_timeout_seconds: 101 } });
    assert.deepEqual([fault?.loc, fault?.type, fault?.ctx], [['body', 'idle_timeout_seconds'], 'less_than_equal', { le: 100 }]);
  });

  it('holds a plan to its longest session', async () => {
    const key = await served.ownerKey('free-rider', 'free');
    const { session_id } = await served.create({}, { key });
    const [fault] = await served.faults(updateSession, { key, params: { session_id }, body: { timeout_seconds: 86_400 } });
    assert.deepEqual([fault?.loc, fault?.ctx], [['body', 'timeout_seconds'], { le: 900 }]);
  });

  it('refuses what cannot be changed', async () => {
    const { session_id } = await served.create();
    const faults = await served.faults(updateSession, { params: { session_id }, body: { keep_alive: false, region: 'local' } });
    assert.deepEqual(faults.map(({ type, loc }) => `${loc[1]} ${type}`).toSorted(), [
      'keep_alive extra_forbidden',
      'region extra_forbidden',
    ]);
  });
});
