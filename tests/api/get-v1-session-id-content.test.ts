import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getContent, listTabs, navigate } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../harness.ts';
import {
  assertError,
  callWhileBrowserDies,
  drivingOf,
  endedSession,
  jammedSession,
  machineOf,
  muteSession,
  startingSession,
} from '../session-states.ts';

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
  it('gives the page as it stands', async () => {
    const { body } = await content();
    const { tab_id, ...rest } = body;
    assert.equal(tab_id, (await served.call(listTabs, { params: { session_id: sessionId } })).body[0]?.tab_id);
    assert.deepEqual(
      { ...rest, content: rest.content?.slice(0, 12) },
      { url, title: 'site.test', format: 'html', content: '<html><head>', links: null, warnings: [] },
    );
  });

  it('gives it as markdown', async () => {
    assert.match((await content({ format: 'markdown' })).body.content ?? '', /^# site\.test\n\nA page\./);
  });

  it('gives it as text', async () => {
    assert.match((await content({ format: 'text' })).body.content ?? '', /^site\.test\s+A page\.\s+Next$/);
  });

  it('gives its links and nothing else', async () => {
    const { body } = await content({ format: 'links' });
    assert.deepEqual([body.content, body.links], [null, [{ url: 'http://site.test/next', text: 'Next', rel: null, internal: true }]]);
  });

  it('gives what the page itself took for its main content', async () => {
    const { body } = await content({ format: 'text', only_main_content: 'true' });
    assert.equal(body.content?.trim(), 'Main');
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(getContent, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('404 tab_not_found', () => {
  it('is the answer for a tab that is not open', async () => {
    await served.refuse(getContent, 'tab_not_found', { params: { session_id: sessionId }, query: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(getContent, 'session_not_ready', { params: { session_id: starting } });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when the session is over, with the reason', async () => {
    const { details } = await served.refuse(getContent, 'session_ended', { params: { session_id: await endedSession(served) } });
    assert.equal(details['ended_reason'], 'requested');
  });
});

describe('409 session_busy', () => {
  it('is told at once to the eighteenth of those who come together', async () => {
    const { sessionId: jammed, give } = await jammedSession(served);
    await served.refuse(getContent, 'session_busy', { params: { session_id: jammed } });
    await give();
  });
});

describe('422', () => {
  it('knows four formats', async () => {
    const [fault] = await served.faults(getContent, { params: { session_id: sessionId }, query: { format: 'word' } });
    assert.deepEqual([fault?.loc, fault?.type], [['query', 'format'], 'literal_error']);
  });
});

describe('502 page_failed', () => {
  it('is the answer when the page dies while it is asked', async () => {
    const session_id = await muteSession(served);
    const [tab] = (await served.call(listTabs, { params: { session_id } })).body;
    const asking = served.refuse(getContent, 'page_failed', { params: { session_id } });
    await eventually('it is asked', () => drivingOf(served, session_id) === 1);
    machineOf(served, session_id).browser.crashPage(tab?.tab_id ?? '');
    assert.deepEqual((await asking).details, { reason: 'page_crashed' });
  });
});

describe('502 session_lost', () => {
  it('is told to a call whose browser dies before its turn', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(getContent, { params: { session_id } }));
    assertError(reply, 502, 'session_lost');
  });
});
