import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cdpProtocol, connectSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

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

describe('422', () => {
  it('GET /v1/session/{session_id}/cdp/json/protocol refuses a token above the length limit with 422', async () => {
    const { session_id } = await served.create();
    const [issue] = await served.issues(cdpProtocol, { params: { session_id }, query: { token: 'x'.repeat(2049) } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['query', 'token'], 'string_too_long', '[secret]']);
  });
});
