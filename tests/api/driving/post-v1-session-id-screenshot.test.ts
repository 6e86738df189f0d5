import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSnapshot, navigate, screenshot } from '@berth/contract';
import { assertSoon, startApp, type TestApp } from '../../harness.ts';
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
  it('POST /v1/session/{session_id}/screenshot returns the image with its size and format', async () => {
    const { body: picture } = await served.call(screenshot, { params: { session_id: sessionId } });
    assert.deepEqual(
      [picture.content_type, picture.width, picture.height, picture.tiles, picture.warnings],
      ['image/png', 1280, 720, null, []],
    );
    assert.deepEqual([...Buffer.from(picture.data_base64 ?? '', 'base64').subarray(1, 4)], [...Buffer.from('PNG')]);
  });

  for (const format of ['jpeg', 'webp'])
    it(`POST /v1/session/{session_id}/screenshot supports ${format}`, async () => {
      const { body: picture } = await served.call(screenshot, {
        params: { session_id: sessionId },
        body: { format, quality: 50, full_page: true },
      });
      assert.equal(picture.content_type, `image/${format}`);
    });
});

describe('404 tab_not_found', () => {
  it('POST /v1/session/{session_id}/screenshot answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(screenshot, 'tab_not_found', { params: { session_id: sessionId }, body: { tab_id: 'ABCDEF' } });
  });
});

describe('404 ref_not_found', () => {
  it('POST /v1/session/{session_id}/screenshot answers 404 ref_not_found for a reference that no snapshot has', async () => {
    await served.refuse(screenshot, 'ref_not_found', { params: { session_id: sessionId }, body: { ref: 'e4000' } });
  });
});

describe('409 stale_ref', () => {
  it('POST /v1/session/{session_id}/screenshot answers 409 stale_ref for a reference whose element is gone', async () => {
    await served.call(getSnapshot, { params: { session_id: sessionId } });
    for (const element of [{ ref: 'e1' }, { selector: 'ref/e1' }]) {
      const { details } = await served.refuse(screenshot, 'stale_ref', { params: { session_id: sessionId }, body: element });
      assert.deepEqual(details, { candidates: [] });
    }
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/screenshot refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(screenshot, 'session_busy', { params: { session_id: jammed }, body });
    await release();
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/screenshot refuses an invalid locator with 422', async () => {
    const [issue] = await served.issues(screenshot, { params: { session_id: sessionId }, body: { selector: 'nonsense/h1' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'selector'], 'selector']);
  });

  it('POST /v1/session/{session_id}/screenshot refuses a selector beside a reference with 422', async () => {
    const [issue] = await served.issues(screenshot, { params: { session_id: sessionId }, body: { selector: 'h1', ref: 'e1' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'ref'], 'value_error']);
  });
});

describe('502 page_failed', () => {
  it('POST /v1/session/{session_id}/screenshot answers 502 page_failed within the timeout when the page hangs, and the session continues', async () => {
    const session_id = await muteSession(served);
    const startMs = performance.now();
    const { details } = await served.refuse(screenshot, 'page_failed', { params: { session_id }, body: { timeout_ms: 1000 } });
    assert.deepEqual(details, { reason: 'timeout' });
    assertSoon(startMs);
    const { status } = await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    assert.equal(status, 200);
  });

  it('POST /v1/session/{session_id}/screenshot answers 502 page_failed when the element is not found', async () => {
    const { details } = await served.refuse(screenshot, 'page_failed', {
      params: { session_id: sessionId },
      body: { selector: '#nowhere', timeout_ms: 1000 },
    });
    assert.deepEqual(details, { reason: 'not_found' });
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/screenshot answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(screenshot, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
