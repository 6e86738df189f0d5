import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endAnySession, getSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { auditTrailOf, machinesLeft, nothingLeft } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('204', () => {
  it('DELETE /admin/sessions/{session_id} ends any owner’s session with the reason admin', async () => {
    const key = await served.ownerKey('anna');
    const { session_id } = await served.create({}, { key });
    const session = served.app.sessions.live.get(session_id);
    await served.call(endAnySession, { params: { session_id } });
    await session?.disposed;
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.status, body.ended_reason], ['ended', 'admin']);
    assert.deepEqual(await machinesLeft(served), nothingLeft);
  });

  it('DELETE /admin/sessions/{session_id} is idempotent and keeps the reason', async () => {
    const { session_id } = await served.create();
    await served.call(endAnySession, { params: { session_id } });
    await served.call(endAnySession, { params: { session_id } });
    assert.equal((await served.call(getSession, { params: { session_id } })).body.ended_reason, 'admin');
    assert.deepEqual((await auditTrailOf(served, session_id)).slice(1), [['operator', 'session.ended', 'admin']]);
  });
});

describe('404 session_not_found', () => {
  it('DELETE /admin/sessions/{session_id} answers 404 session_not_found for an unknown id', async () => {
    await served.refuse(endAnySession, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});
