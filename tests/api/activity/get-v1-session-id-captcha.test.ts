import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeTab, createSession, getCaptcha, listTabs, navigate, openTab } from '@berth/contract';
import { eventually, startApp, type Reply, type TestApp } from '../../harness.ts';
import { assertError, machineOf, muteSession } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/captcha reports that a page has no captcha', async () => {
    const { session_id } = await served.create();
    await served.call(navigate, { params: { session_id }, body: { url: 'http://plain.test/' } });
    const { body } = await served.call(getCaptcha, { params: { session_id } });
    assert.deepEqual([body.present, body.vendor, body.type], [false, null, null]);
  });

  it('GET /v1/session/{session_id}/captcha refuses captcha solving when no solver is configured', async () => {
    const [issue] = await served.issues(createSession, { body: { captcha: { mode: 'solve' } } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'captcha', 'mode'], 'value_error']);
  });
});

/** Asks about a page that does not answer, and returns the reply when `happens` has. */
async function askWhile(session_id: string, happens: () => unknown): Promise<Reply> {
  const { browser } = machineOf(served, session_id);
  const before = browser.unanswered;
  const asking = served.call(getCaptcha, { params: { session_id } });
  await eventually('the page is asked', () => browser.unanswered > before);
  await happens();
  return asking;
}

describe('404 tab_not_found', () => {
  it('GET /v1/session/{session_id}/captcha answers 404 tab_not_found when the tab closes during the call', async () => {
    const session_id = await muteSession(served);
    const { body: first } = await served.call(listTabs, { params: { session_id } });
    await served.call(openTab, { params: { session_id }, body: { active: false } });
    const tab_id = first[0]?.tab_id ?? '';
    assertError(await askWhile(session_id, () => served.call(closeTab, { params: { session_id, tab_id } })), 404, 'tab_not_found');
  });
});

describe('502 session_lost', () => {
  it('GET /v1/session/{session_id}/captcha answers 502 session_lost when the browser crashes during the call', async () => {
    const session_id = await muteSession(served);
    assertError(await askWhile(session_id, () => machineOf(served, session_id).crash()), 502, 'session_lost');
  });
});
