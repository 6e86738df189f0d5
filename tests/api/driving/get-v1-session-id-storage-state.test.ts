import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getStorageState, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession, machineOf } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/storage-state returns cookies and the local storage of the open pages', async () => {
    await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://site.test/a' } });
    const { body } = await served.call(getStorageState, { params: { session_id: sessionId } });
    assert.deepEqual(body, { cookies: [], origins: [{ origin: 'http://site.test', localStorage: [{ name: 'theme', value: 'dark' }] }] });
  });

  it('GET /v1/session/{session_id}/storage-state is accepted by a new session', async () => {
    const { body: storage_state } = await served.call(getStorageState, { params: { session_id: sessionId } });
    assert.equal((await served.create({ storage_state })).status, 'ready');
  });
});

describe('409 session_busy', () => {
  it('GET /v1/session/{session_id}/storage-state refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(getStorageState, 'session_busy', { params: { session_id: jammed } });
    await release();
  });
});

describe('502 page_failed', () => {
  it('GET /v1/session/{session_id}/storage-state answers 502 page_failed when the browser cannot read the cookies, and the next call succeeds', async () => {
    machineOf(served, sessionId).browser.failNext('Storage.getCookies');
    const { details } = await served.refuse(getStorageState, 'page_failed', { params: { session_id: sessionId } });
    assert.equal(details['reason'], 'context_lost');
    assert.equal((await served.call(getStorageState, { params: { session_id: sessionId } })).status, 200);
  });
});

describe('502 session_lost', () => {
  it('GET /v1/session/{session_id}/storage-state answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(getStorageState, { params: { session_id } }));
    assertError(reply, 502, 'session_lost');
  });
});
