import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cdpList, connectSession, listTabs, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/cdp/json/list lists the tabs with their tab ids', async () => {
    const { session_id } = await served.create();
    await served.call(openTab, { params: { session_id }, body: { url: 'http://site.test/page' } });
    const { body } = await served.call(cdpList, { params: { session_id } });
    const { body: tabs } = await served.call(listTabs, { params: { session_id } });
    assert.deepEqual(
      body.map(({ id, type, url }) => [id, type, url]),
      tabs.map(({ tab_id, url }) => [tab_id, 'page', url]),
    );
  });

  it('GET /v1/session/{session_id}/cdp/json/list takes a connect token instead of a key', async () => {
    const { session_id } = await served.create();
    const { token } = (await served.call(connectSession, { params: { session_id } })).body;
    const reply = await served.call(cdpList, { key: null, params: { session_id }, query: { token } });
    assert.equal(reply.status, 200);
  });

  it('GET /v1/session/{session_id}/cdp/json/list accepts a trailing slash', async () => {
    const { session_id } = await served.create();
    const response = await fetch(`${served.url}/v1/session/${session_id}/cdp/json/list/`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/cdp/json/list refuses a token above the length limit with 422', async () => {
    const { session_id } = await served.create();
    const [issue] = await served.issues(cdpList, { params: { session_id }, query: { token: 'x'.repeat(2049) } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['query', 'token'], 'string_too_long', '[secret]']);
  });
});
