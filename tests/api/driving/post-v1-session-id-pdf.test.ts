import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pdf } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession, muteSession } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = {};

describe('200', () => {
  it('POST /v1/session/{session_id}/pdf returns the document and its size', async () => {
    const { body: document } = await served.call(pdf, { params: { session_id: sessionId } });
    const data = Buffer.from(document.data_base64, 'base64');
    assert.deepEqual([document.content_type, document.bytes, data.toString('latin1', 0, 5)], ['application/pdf', data.length, '%PDF-']);
  });
});

describe('404 tab_not_found', () => {
  it('POST /v1/session/{session_id}/pdf answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(pdf, 'tab_not_found', { params: { session_id: sessionId }, body: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/pdf refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(pdf, 'session_busy', { params: { session_id: jammed }, body });
    await release();
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/pdf refuses invalid page ranges with 422', async () => {
    const [issue] = await served.issues(pdf, { params: { session_id: sessionId }, body: { page_ranges: '1-2-3' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'page_ranges'], 'string_pattern_mismatch']);
  });
});

describe('502 page_failed', () => {
  it('POST /v1/session/{session_id}/pdf answers 502 page_failed within the timeout when the page hangs', async () => {
    const session_id = await muteSession(served);
    const { details } = await served.refuse(pdf, 'page_failed', { params: { session_id }, body: { timeout_ms: 1000 } });
    assert.deepEqual(details, { reason: 'timeout' });
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/pdf answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(pdf, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
