import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pdf } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { assertError, callWhileBrowserDies, endedSession, jammedSession, muteSession, startingSession } from '../session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = {};

describe('200', () => {
  it('gives the document and its size', async () => {
    const { body: document } = await served.call(pdf, { params: { session_id: sessionId } });
    const data = Buffer.from(document.data_base64, 'base64');
    assert.deepEqual([document.content_type, document.bytes, data.toString('latin1', 0, 5)], ['application/pdf', data.length, '%PDF-']);
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(pdf, 'session_not_found', { params: { session_id: 'ses_none' }, body });
  });
});

describe('404 tab_not_found', () => {
  it('is the answer for a tab that is not open', async () => {
    await served.refuse(pdf, 'tab_not_found', { params: { session_id: sessionId }, body: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(pdf, 'session_not_ready', { params: { session_id: starting }, body });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when the session is over, with the reason', async () => {
    const { details } = await served.refuse(pdf, 'session_ended', { params: { session_id: await endedSession(served) }, body });
    assert.equal(details['ended_reason'], 'requested');
  });
});

describe('409 session_busy', () => {
  it('is told at once to the eighteenth of those who come together', async () => {
    const { sessionId: jammed, give } = await jammedSession(served);
    await served.refuse(pdf, 'session_busy', { params: { session_id: jammed }, body });
    await give();
  });
});

describe('422', () => {
  it('wants ranges that can be read', async () => {
    const [fault] = await served.faults(pdf, { params: { session_id: sessionId }, body: { page_ranges: '1-2-3' } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'page_ranges'], 'string_pattern_mismatch']);
  });
});

describe('502 page_failed', () => {
  it('is the answer for a page that hangs, in the time that was given', async () => {
    const session_id = await muteSession(served);
    const { details } = await served.refuse(pdf, 'page_failed', { params: { session_id }, body: { timeout_ms: 1000 } });
    assert.deepEqual(details, { reason: 'timeout' });
  });
});

describe('502 session_lost', () => {
  it('is told to a call whose browser dies before its turn', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(pdf, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
