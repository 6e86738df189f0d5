import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, navigate, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { endedSession } from '../../contract/session-states.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id} returns the session’s current state', async () => {
    const created = await served.create();
    const params = { session_id: created.session_id };
    await served.call(navigate, { params, body: { url: 'http://site.test/page' } });
    await served.call(openTab, { params, body: { active: false } });
    const { body } = await served.call(getSession, { params });
    assert.deepEqual([body.current_url, body.title, body.tabs.open, body.usage.actions], ['http://site.test/page', 'site.test', 2, 2]);
  });

  it('GET /v1/session/{session_id} equals the create response while nothing changes', async () => {
    const created = await served.create({ name: 'quiet', metadata: { a: 'b' } });
    const { body } = await served.call(getSession, { params: { session_id: created.session_id } });
    const still = (session: typeof created) => ({ ...session, last_activity_at: null, usage: null });
    assert.deepEqual(still(body), still(created));
  });

  it('GET /v1/session/{session_id} returns the last state of an ended session', async () => {
    const { session_id } = await served.create({ start_url: 'http://site.test/last' });
    await served.call(endSession, { params: { session_id } });
    await served.app.sessions.live.get(session_id)?.disposed;
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual(
      [body.status, body.ended_reason, body.current_url, body.tabs.open],
      ['ended', 'requested', 'http://site.test/last', 1],
    );
    assert.ok(body.ended_at !== null && Date.parse(body.ended_at) >= Date.parse(body.created_at));
  });

  it('GET /v1/session/{session_id} returns addresses on the requested host', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.equal(body.connect_url, `${served.url}/v1/session/${session_id}/connect`);
    assert.equal(body.cdp_url, `${served.url.replace('http', 'ws')}/v1/session/${session_id}/cdp`);
  });
});

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id} answers 404 session_not_found for a session past its retention', async () => {
    const session_id = await endedSession(served);
    await served.app.sessions.live.get(session_id)?.disposed;
    clock.advance(25 * 3_600_000);
    served.app.sessions.retention.nudge();
    await served.app.sessions.retention.idle();
    await served.refuse(getSession, 'session_not_found', { params: { session_id } });
  });
});
