import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getContent, listTabs, navigate } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, drivingOf, jammedSession, machineOf, muteSession } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
  await served.call(navigate, { params: { session_id: sessionId }, body: { url } });
});
after(() => served.close());

const url = 'http://site.test/page';
const content = (query: Record<string, string> = {}) => served.call(getContent, { params: { session_id: sessionId }, query });

describe('200', () => {
  it('GET /v1/session/{session_id}/content returns the current HTML', async () => {
    const { body } = await content();
    const { tab_id, ...rest } = body;
    assert.equal(tab_id, (await served.call(listTabs, { params: { session_id: sessionId } })).body[0]?.tab_id);
    assert.deepEqual(
      { ...rest, content: rest.content?.slice(0, 12) },
      { url, title: 'site.test', format: 'html', content: '<html><head>', links: null, warnings: [] },
    );
  });

  it('GET /v1/session/{session_id}/content returns markdown', async () => {
    assert.match((await content({ format: 'markdown' })).body.content ?? '', /^# site\.test\n\nA page\./);
  });

  it('GET /v1/session/{session_id}/content returns text', async () => {
    assert.match((await content({ format: 'text' })).body.content ?? '', /^site\.test\s+A page\.\s+Next$/);
  });

  it('GET /v1/session/{session_id}/content returns only links', async () => {
    const { body } = await content({ format: 'links' });
    assert.deepEqual([body.content, body.links], [null, [{ url: 'http://site.test/next', text: 'Next', rel: null, internal: true }]]);
  });

  it('GET /v1/session/{session_id}/content returns the main content', async () => {
    const { body } = await content({ format: 'text', only_main_content: 'true' });
    assert.equal(body.content, 'site.test\n\nA page.\n\nNext');
  });
});

describe('404 tab_not_found', () => {
  it('GET /v1/session/{session_id}/content answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(getContent, 'tab_not_found', { params: { session_id: sessionId }, query: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_busy', () => {
  it('GET /v1/session/{session_id}/content refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(getContent, 'session_busy', { params: { session_id: jammed } });
    await release();
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/content answers 422 for a format other than its four', async () => {
    const [issue] = await served.issues(getContent, { params: { session_id: sessionId }, query: { format: 'word' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'format'], 'literal_error']);
  });
});

describe('502 page_failed', () => {
  it('GET /v1/session/{session_id}/content answers 502 page_failed when the page crashes during the call', async () => {
    const session_id = await muteSession(served);
    const [tab] = (await served.call(listTabs, { params: { session_id } })).body;
    const asking = served.refuse(getContent, 'page_failed', { params: { session_id } });
    await eventually('it is requested', () => drivingOf(served, session_id) === 1);
    machineOf(served, session_id).browser.crashPage(tab?.tab_id ?? '');
    assert.deepEqual((await asking).details, { reason: 'page_crashed' });
  });
});

describe('502 session_lost', () => {
  it('GET /v1/session/{session_id}/content answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(getContent, { params: { session_id } }));
    assertError(reply, 502, 'session_lost');
  });
});
