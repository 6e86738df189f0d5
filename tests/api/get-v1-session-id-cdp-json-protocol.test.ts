import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cdpProtocol, connectSession } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { endedSession, startingSession } from '../session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol describes the protocol, domain by domain', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(cdpProtocol, { params: { session_id } });
    assert.equal(body.version.major, '1');
    const names = (body.domains as { domain: string }[]).map(({ domain }) => domain);
    for (const name of ['Page', 'Runtime', 'Target', 'Network']) assert.ok(names.includes(name), name);
  });

  it('GET /v1/session/{session_id}/cdp/json/protocol takes a connect token instead of a key', async () => {
    const { session_id } = await served.create();
    const { token } = (await served.call(connectSession, { params: { session_id } })).body;
    const reply = await served.call(cdpProtocol, { key: null, params: { session_id }, query: { token } });
    assert.equal(reply.status, 200);
  });

  it('GET /v1/session/{session_id}/cdp/json/protocol accepts a trailing slash', async () => {
    const { session_id } = await served.create();
    const response = await fetch(`${served.url}/v1/session/${session_id}/cdp/json/protocol/`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol answers 404 session_not_found when there is no such session', async () => {
    await served.refuse(cdpProtocol, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol answers 409 session_not_ready before the browser has started', async () => {
    const { sessionId, release } = await startingSession(served);
    await served.refuse(cdpProtocol, 'session_not_ready', { params: { session_id: sessionId } });
    await release();
  });
});

describe('409 session_ended', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol answers 409 session_ended after the browser has exited', async () => {
    await served.refuse(cdpProtocol, 'session_ended', { params: { session_id: await endedSession(served) } });
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol refuses a token above the length limit with 422', async () => {
    const { session_id } = await served.create();
    const [issue] = await served.issues(cdpProtocol, { params: { session_id }, query: { token: 'x'.repeat(2049) } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['query', 'token'], 'string_too_long', '[secret]']);
  });
});
