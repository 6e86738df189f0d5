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
  it('reports that a page has no captcha', async () => {
    const { session_id } = await served.create();
    await served.call(navigate, { params: { session_id }, body: { url: 'http://plain.test/' } });
    const { body } = await served.call(getCaptcha, { params: { session_id } });
    assert.deepEqual([body.present, body.vendor, body.type], [false, null, null]);
  });

  it('refuses captcha solving when no solver is configured', async () => {
    const [issue] = await served.issues(createSession, { body: { captcha: { mode: 'solve' } } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'captcha', 'mode'], 'value_error']);
  });
});

describe('404 session_not_found', () => {
  it('answers an unknown session', async () => {
    await served.refuse(getCaptcha, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks to retry while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    await served.refuse(getCaptcha, 'session_not_ready', { params: { session_id: sessionId } });
    await release();
  });
});

describe('409 session_ended', () => {
  it('answers with the end reason', async () => {
    const sessionId = await endedSession(served);
    await served.refuse(getCaptcha, 'session_ended', { params: { session_id: sessionId } });
  });
});
