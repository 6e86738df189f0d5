import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cdpVersion, connectSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/cdp/json/version returns the browser’s version and a socket address without secrets', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(cdpVersion, { params: { session_id } });
    assert.deepEqual(
      [body['Protocol-Version'], body.webSocketDebuggerUrl],
      ['1.3', `${served.url.replace('http', 'ws')}/v1/session/${session_id}/cdp`],
    );
    assert.match(body.Browser, /Chrome\/\d+/);
    assert.ok(!body.webSocketDebuggerUrl.includes('token'));
  });

  it('GET /v1/session/{session_id}/cdp/json/version takes a token of the session instead of a key, and leaves it in the socket address', async () => {
    const { session_id } = await served.create();
    const { token } = (await served.call(connectSession, { params: { session_id } })).body;
    const reply = await served.call(cdpVersion, { key: null, params: { session_id }, query: { token } });
    assert.equal(reply.body.webSocketDebuggerUrl, `${served.url.replace('http', 'ws')}/v1/session/${session_id}/cdp?token=${token}`);
  });

  it('GET /v1/session/{session_id}/cdp/json/version accepts a trailing slash', async () => {
    const { session_id } = await served.create();
    const response = await fetch(`${served.url}/v1/session/${session_id}/cdp/json/version/`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/cdp/json/version refuses a token above the length limit with 422', async () => {
    const { session_id } = await served.create();
    const [issue] = await served.issues(cdpVersion, { params: { session_id }, query: { token: 'x'.repeat(2049) } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['query', 'token'], 'string_too_long', '[secret]']);
  });
});
