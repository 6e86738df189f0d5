import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, health, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { auditTrailOf, assertError, hang, machinesLeft, nothingLeft, startingSession } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('204', () => {
  it('DELETE /v1/session/{session_id} ends the session and its machine', async () => {
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id);
    const reply = await served.call(endSession, { params: { session_id } });
    assert.equal(reply.text, '');
    await session?.disposed;
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.status, body.ended_reason], ['ended', 'requested']);
    assert.deepEqual(await machinesLeft(served), nothingLeft);
  });

  it('DELETE /v1/session/{session_id} adds an audit entry with the caller’s key, like the create', async () => {
    const { session_id } = await served.create();
    const { keyId } = served.app.sessions.live.get(session_id)?.record ?? assert.fail();
    for (let time = 0; time < 2; time += 1) await served.call(endSession, { params: { session_id } });
    assert.deepEqual(await auditTrailOf(served, session_id), [
      [`key:${keyId}`, 'session.created', undefined],
      [`key:${keyId}`, 'session.ended', 'requested'],
    ]);
  });

  it('DELETE /v1/session/{session_id} is idempotent during the retention', async () => {
    const { session_id } = await served.create();
    for (let time = 0; time < 3; time += 1) assert.equal((await served.call(endSession, { params: { session_id } })).status, 204);
  });

  it('DELETE /v1/session/{session_id} ends a starting session and its machine', async () => {
    const { sessionId, release } = await startingSession(served);
    await release();
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.equal(body.ended_reason, 'requested');
    await served.app.sessions.live.get(sessionId)?.disposed;
    assert.deepEqual(await machinesLeft(served), nothingLeft);
  });

  it('DELETE /v1/session/{session_id} ends a session during a navigation, which is answered at once', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    await served.call(endSession, { params: { session_id } });
    const details = assertError((await hanging) ?? assert.fail(), 409, 'session_ended');
    assert.equal(details['ended_reason'], 'requested');
  });

  it('DELETE /v1/session/{session_id} ends a session whose page has a title with half a character and a NUL, and stores the title without them', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const { body: page } = await served.call(navigate, { params, body: { url: 'http://title.test/?a\\ud800b\\u0000\\ud83d\\ude00' } });
    assert.equal(page.title, 'a\ufffdb\ufffd\u{1f600}');
    const session = served.app.sessions.live.get(session_id);
    assert.equal((await served.call(endSession, { params })).status, 204);
    await session?.disposed;
    const { body } = await served.call(getSession, { params });
    assert.deepEqual([body.status, body.ended_reason, body.title], ['ended', 'requested', page.title]);
    assert.equal((await served.call(health)).status, 200);
  });

  it('DELETE /v1/session/{session_id} ends a session whose last state the database refuses, and stores the usage', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    await served.call(navigate, { params, body: { url: 'http://site.test/' } });
    const session = served.app.sessions.live.get(session_id) ?? assert.fail();
    session.startNavigation = { url: 'a\ud800', status: 'ok', status_code: 200, reason: null, net_error: null };
    assert.equal((await served.call(endSession, { params })).status, 204);
    await session.disposed;
    const { body } = await served.call(getSession, { params });
    assert.deepEqual([body.status, body.ended_reason, body.usage.actions, body.start_navigation], ['ended', 'requested', 1, null]);
    assert.deepEqual(await machinesLeft(served), nothingLeft);
  });
});
