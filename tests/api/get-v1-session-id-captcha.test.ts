import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, getCaptcha, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { endedSession, startingSession } from '../session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('tells of a page without a captcha that there is none', async () => {
    const { session_id } = await served.create();
    await served.call(navigate, { params: { session_id }, body: { url: 'http://plain.test/' } });
    const { body } = await served.call(getCaptcha, { params: { session_id } });
    assert.deepEqual([body.present, body.vendor, body.type], [false, null, null]);
  });

  it('lets no session ask for solving that nobody here can do', async () => {
    const [fault] = await served.faults(createSession, { body: { captcha: { mode: 'solve' } } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'captcha', 'mode'], 'value_error']);
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(getCaptcha, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId, give } = await startingSession(served);
    await served.refuse(getCaptcha, 'session_not_ready', { params: { session_id: sessionId } });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is told with the reason', async () => {
    const sessionId = await endedSession(served);
    await served.refuse(getCaptcha, 'session_ended', { params: { session_id: sessionId } });
  });
});
