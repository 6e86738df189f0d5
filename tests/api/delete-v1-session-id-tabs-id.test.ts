import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeTab, listTabs, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { assertError, callWhileBrowserDies, endedSession, jammedSession, startingSession } from '../session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const tabsOf = async (session_id: string) => (await served.call(listTabs, { params: { session_id } })).body;

describe('204', () => {
  it('closes the tab and makes another one active', async () => {
    const { session_id } = await served.create();
    const second = (await served.call(openTab, { params: { session_id }, body: {} })).body.tab_id;
    await served.call(closeTab, { params: { session_id, tab_id: second } });
    const tabs = await tabsOf(session_id);
    assert.deepEqual(
      tabs.map(({ tab_id, active }) => [tab_id === second, active]),
      [[false, true]],
    );
  });

  it('closes the first tab as well as any other', async () => {
    const { session_id } = await served.create();
    const [first] = await tabsOf(session_id);
    const second = (await served.call(openTab, { params: { session_id }, body: { active: false } })).body.tab_id;
    await served.call(closeTab, { params: { session_id, tab_id: first?.tab_id ?? '' } });
    assert.deepEqual(
      (await tabsOf(session_id)).map(({ tab_id, active }) => [tab_id, active]),
      [[second, true]],
    );
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session to close a tab of', async () => {
    await served.refuse(closeTab, 'session_not_found', { params: { session_id: 'ses_none', tab_id: 'A' } });
  });
});

describe('404 tab_not_found', () => {
  it('is the answer for a tab that never was, and for one that was closed before', async () => {
    await served.refuse(closeTab, 'tab_not_found', { params: { session_id: sessionId, tab_id: 'A' } });
    const tab_id = (await served.call(openTab, { params: { session_id: sessionId }, body: {} })).body.tab_id;
    const replies = await Promise.all([1, 2].map(() => served.call(closeTab, { params: { session_id: sessionId, tab_id } })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [204, 404],
    );
  });
});

describe('409 last_tab', () => {
  it('keeps the last tab, also when two are closed at the same time', async () => {
    const { session_id } = await served.create();
    await served.call(openTab, { params: { session_id }, body: {} });
    const both = await tabsOf(session_id);
    const replies = await Promise.all(both.map(({ tab_id }) => served.call(closeTab, { params: { session_id, tab_id } })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [204, 409],
    );
    const [last] = await tabsOf(session_id);
    await served.refuse(closeTab, 'last_tab', { params: { session_id, tab_id: last?.tab_id ?? '' } });
    assert.equal((await tabsOf(session_id)).length, 1);
  });
});

describe('409 session_not_ready', () => {
  it('is the answer before there are tabs', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(closeTab, 'session_not_ready', { params: { session_id: starting, tab_id: 'A' } });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when all tabs are gone with the session', async () => {
    await served.refuse(closeTab, 'session_ended', { params: { session_id: await endedSession(served), tab_id: 'A' } });
  });
});

describe('409 session_busy', () => {
  it('is the answer when too many wait before it', async () => {
    const { sessionId: jammed, give } = await jammedSession(served);
    await served.refuse(closeTab, 'session_busy', { params: { session_id: jammed, tab_id: 'A' } });
    await give();
  });
});

describe('502 session_lost', () => {
  it('is the answer when the browser dies before the tab is closed', async () => {
    assertError(
      await callWhileBrowserDies(served, (session_id) => served.call(closeTab, { params: { session_id, tab_id: 'A' } })),
      502,
      'session_lost',
    );
  });
});
