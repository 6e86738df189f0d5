import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listTabs, navigate, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { hang } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/tabs lists one empty tab in a new session', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(listTabs, { params: { session_id } });
    assert.deepEqual(
      body.map(({ url, active, opener_tab_id, status }) => ({ url, active, opener_tab_id, status })),
      [{ url: 'about:blank', active: true, opener_tab_id: null, status: 'complete' }],
    );
  });

  it('GET /v1/session/{session_id}/tabs lists tabs oldest first, one of them active', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const second = (await served.call(openTab, { params, body: { url: 'http://second.test/a' } })).body.tab_id;
    const third = (await served.call(openTab, { params, body: { url: 'http://third.test/b', active: false } })).body.tab_id;
    const { body } = await served.call(listTabs, { params });
    assert.deepEqual(
      body.map(({ tab_id, url, title, active }) => [tab_id, url, title, active]),
      [
        [body[0]?.tab_id, 'about:blank', body[0]?.title, false],
        [second, 'http://second.test/a', 'second.test', true],
        [third, 'http://third.test/b', 'third.test', false],
      ],
    );
  });

  it('GET /v1/session/{session_id}/tabs does not wait for drive calls', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    assert.equal((await served.call(listTabs, { params: { session_id } })).body.length, 1);
    await served.call(endSession, { params: { session_id } });
    await hanging;
  });

  it('GET /v1/session/{session_id}/tabs is not counted as an action', async () => {
    const { session_id } = await served.create();
    await served.call(navigate, { params: { session_id }, body: { url: 'http://a.test/' } });
    await served.call(listTabs, { params: { session_id } });
    assert.equal(served.app.sessions.live.get(session_id)?.meter.totals().actions, 1);
  });
});
