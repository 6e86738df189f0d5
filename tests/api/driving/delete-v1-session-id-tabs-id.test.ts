import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeTab, listTabs, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession, machineOf } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const tabsOf = async (session_id: string) => (await served.call(listTabs, { params: { session_id } })).body;

describe('204', () => {
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} closes the tab and activates another one', async () => {
    const { session_id } = await served.create();
    const second = (await served.call(openTab, { params: { session_id }, body: {} })).body.tab_id;
    await served.call(closeTab, { params: { session_id, tab_id: second } });
    const tabs = await tabsOf(session_id);
    assert.deepEqual(
      tabs.map(({ tab_id, active }) => [tab_id === second, active]),
      [[false, true]],
    );
  });

  it('DELETE /v1/session/{session_id}/tabs/{tab_id} closes the first tab', async () => {
    const { session_id } = await served.create();
    const [first] = await tabsOf(session_id);
    const second = (await served.call(openTab, { params: { session_id }, body: { active: false } })).body.tab_id;
    await served.call(closeTab, { params: { session_id, tab_id: first?.tab_id ?? '' } });
    assert.deepEqual(
      (await tabsOf(session_id)).map(({ tab_id, active }) => [tab_id, active]),
      [[second, true]],
    );
  });

  it('DELETE /v1/session/{session_id}/tabs/{tab_id} activates the tab that was active before, also when it is neither the opener nor the newest', async () => {
    const { session_id } = await served.create();
    const open = async (active: boolean): Promise<string> =>
      (await served.call(openTab, { params: { session_id }, body: { active } })).body.tab_id;
    const [first] = await tabsOf(session_id);
    const [second] = [await open(true), await open(false)];
    const [fourth, fifth] = [await open(true), await open(true)];
    for (const [closed, active] of [
      [fifth, fourth],
      [fourth, second],
      [second, first?.tab_id],
    ]) {
      await served.call(closeTab, { params: { session_id, tab_id: closed ?? '' } });
      assert.equal((await tabsOf(session_id)).find((tab) => tab.active)?.tab_id, active);
    }
  });
});

describe('404 tab_not_found', () => {
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} answers 404 tab_not_found for an unknown tab and a closed one', async () => {
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
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} keeps the last tab, also when two are closed concurrently with 409 last_tab', async () => {
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

describe('409 session_busy', () => {
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} answers 409 session_busy when too many calls are queued', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(closeTab, 'session_busy', { params: { session_id: jammed, tab_id: 'A' } });
    await release();
  });
});

describe('502 page_failed', () => {
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} answers 502 page_failed when the browser cannot close the tab, and the next call succeeds', async () => {
    const { session_id } = await served.create();
    const { tab_id } = (await served.call(openTab, { params: { session_id }, body: {} })).body;
    machineOf(served, session_id).browser.failNext('Target.closeTarget');
    const { details } = await served.refuse(closeTab, 'page_failed', { params: { session_id, tab_id } });
    assert.equal(details['reason'], 'context_lost');
    assert.equal((await served.call(closeTab, { params: { session_id, tab_id } })).status, 204);
  });
});

describe('502 session_lost', () => {
  it('DELETE /v1/session/{session_id}/tabs/{tab_id} answers 502 session_lost when the browser crashes before the tab is closed', async () => {
    assertError(
      await callWhileBrowserDies(served, (session_id) => served.call(closeTab, { params: { session_id, tab_id: 'A' } })),
      502,
      'session_lost',
    );
  });
});
