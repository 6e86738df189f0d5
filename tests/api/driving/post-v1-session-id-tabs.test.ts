import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listTabs, openTab } from '@berth/contract';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, hangingUrl, jammedSession, machineOf } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp({ environment: { BERTH_TABS_MAX: '3' } });
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

describe('201', () => {
  it('POST /v1/session/{session_id}/tabs opens an empty tab and activates it', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(openTab, { params: { session_id }, body: {} });
    assert.deepEqual([body.url, body.active, body.opener_tab_id], ['about:blank', true, null]);
    const tabs = (await served.call(listTabs, { params: { session_id } })).body;
    assert.deepEqual(
      tabs.map(({ active }) => active),
      [false, true],
    );
  });

  it('POST /v1/session/{session_id}/tabs opens an empty tab without a body', async () => {
    const { session_id } = await served.create();
    const { status, body } = await served.call(openTab, { params: { session_id } });
    assert.deepEqual([status, body.url, body.active], [201, 'about:blank', true]);
  });

  it('POST /v1/session/{session_id}/tabs opens a tab at a page, optionally in the background', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(openTab, { params: { session_id }, body: { url: 'http://status-404.test/x', active: false } });
    assert.deepEqual([body.url, body.active, body.status], ['http://status-404.test/x', false, 'complete']);
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/tabs answers 409 session_busy while the queue is full', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(openTab, 'session_busy', { params: { session_id: jammed }, body: {} });
    await release();
  });
});

describe('409 tab_limit_reached', () => {
  it('POST /v1/session/{session_id}/tabs answers 409 tab_limit_reached with the limit, which concurrent calls cannot exceed', async () => {
    const { session_id } = await served.create();
    const replies = await Promise.all(Array.from({ length: 6 }, () => served.call(openTab, { params: { session_id }, body: {} })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [201, 201, 409, 409, 409, 409],
    );
    const { details } = await served.refuse(openTab, 'tab_limit_reached', { params: { session_id }, body: {} });
    assert.deepEqual(details, { limit: 3 });
    assert.equal((await served.call(listTabs, { params: { session_id } })).body.length, 3);
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/tabs refuses a timeout out of bounds with 422', async () => {
    const [issue] = await served.issues(openTab, { params: { session_id: sessionId }, body: { timeout_ms: 999 } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.ctx], [['body', 'timeout_ms'], 'greater_than_equal', { ge: 1000 }]);
  });
});

describe('502 navigation_failed', () => {
  it('POST /v1/session/{session_id}/tabs closes the tab when it answers 502 navigation_failed', async () => {
    const before = (await served.call(listTabs, { params: { session_id: sessionId } })).body;
    const { details } = await served.refuse(openTab, 'navigation_failed', {
      params: { session_id: sessionId },
      body: { url: 'http://fail-ERR_CONNECTION_REFUSED.test/' },
    });
    assert.equal(details['reason'], 'connection_refused');
    await served.refuse(openTab, 'navigation_failed', { params: { session_id: sessionId }, body: { url: hangingUrl, timeout_ms: 1000 } });
    assert.deepEqual((await served.call(listTabs, { params: { session_id: sessionId } })).body, before);
  });

  it('POST /v1/session/{session_id}/tabs leaves the active tab active when it answers 502 navigation_failed, although a newer one is open', async () => {
    const { session_id } = await served.create();
    await served.call(openTab, { params: { session_id }, body: { active: false } });
    const before = (await served.call(listTabs, { params: { session_id } })).body;
    const body = { url: 'http://fail-ERR_CONNECTION_REFUSED.test/' };
    await served.refuse(openTab, 'navigation_failed', { params: { session_id }, body });
    assert.deepEqual((await served.call(listTabs, { params: { session_id } })).body, before);
  });
});

describe('502 page_failed', () => {
  it('POST /v1/session/{session_id}/tabs answers 502 page_failed within the timeout when the browser is busy, and keeps nothing of the late tab', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const { browser } = machineOf(served, session_id);
    const before = (await served.call(listTabs, { params })).body;
    const release = browser.delayTabs();
    const startMs = performance.now();
    const reply = await served.call(openTab, { params, body: { url: 'http://site.test/', timeout_ms: 1000 } });
    assert.equal(assertError(reply, 502, 'page_failed')['reason'], 'timeout');
    assertSoon(startMs);
    release();
    await eventually('the late tab is closed', () => browser.pageUrls.length === before.length);
    assert.deepEqual((await served.call(listTabs, { params })).body, before);
    const opened = await Promise.all([1, 2].map(() => served.call(openTab, { params, body: {} })));
    assert.deepEqual(
      opened.map(({ status }) => status),
      [201, 201],
    );
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/tabs answers 502 session_lost when the browser crashes before the tab is open', async () => {
    assertError(
      await callWhileBrowserDies(served, (session_id) => served.call(openTab, { params: { session_id }, body: {} })),
      502,
      'session_lost',
    );
  });
});
