import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSnapshot, listTabs, navigate } from '@berth/contract';
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
const snapshot = (query: Record<string, string> = {}) => served.call(getSnapshot, { params: { session_id: sessionId }, query });

describe('200', () => {
  it('GET /v1/session/{session_id}/snapshot returns a line for each node, with references', async () => {
    const { body } = await snapshot();
    const { tab_id, snapshot_id, tokens, ...rest } = body;
    assert.equal(tab_id, (await served.call(listTabs, { params: { session_id: sessionId } })).body[0]?.tab_id);
    assert.match(snapshot_id, /^s\d+$/);
    assert.ok(tokens > 0);
    assert.deepEqual(rest, {
      ...{ url, title: 'site.test', format: 'text', snapshot: '- heading "site.test" [level=1]\n- link "Next" [ref=e1]' },
      ...{ nodes: null, left: null, removed: null, warnings: [] },
    });
  });

  it('GET /v1/session/{session_id}/snapshot returns nodes as JSON', async () => {
    const { body } = await snapshot({ format: 'json', mode: 'full' });
    const none = { value: null, text: null, options: null, place: null, box: null, url: null, depth: 0 };
    assert.deepEqual(
      [body.snapshot, body.nodes],
      [
        null,
        [
          { ...none, role: 'heading', name: 'site.test', states: { level: '1' }, ref: null },
          { ...none, role: 'link', name: 'Next', states: {}, ref: 'e1' },
        ],
      ],
    );
  });

  it('GET /v1/session/{session_id}/snapshot returns what has changed since an earlier snapshot', async () => {
    const { body } = await snapshot();
    const { body: later } = await snapshot({ since: body.snapshot_id });
    assert.deepEqual([later.snapshot, later.removed, later.warnings], ['', [], []]);
    assert.deepEqual((await snapshot({ since: 's999' })).body.warnings, ['since_not_found']);
  });
});

describe('404 tab_not_found', () => {
  it('GET /v1/session/{session_id}/snapshot answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(getSnapshot, 'tab_not_found', { params: { session_id: sessionId }, query: { tab_id: 'ABCDEF' } });
  });
});

describe('404 ref_not_found', () => {
  it('GET /v1/session/{session_id}/snapshot answers 404 ref_not_found for a reference that no snapshot has, and says what to do', async () => {
    const { message } = await served.refuse(getSnapshot, 'ref_not_found', { params: { session_id: sessionId }, query: { scope: 'e4000' } });
    assert.match(message, /Take a snapshot/);
  });
});

describe('409 stale_ref', () => {
  it('GET /v1/session/{session_id}/snapshot answers 409 stale_ref for a reference whose element is gone', async () => {
    await snapshot();
    const { details } = await served.refuse(getSnapshot, 'stale_ref', { params: { session_id: sessionId }, query: { scope: 'e1' } });
    assert.deepEqual(details, { candidates: [] });
  });
});

describe('409 session_busy', () => {
  it('GET /v1/session/{session_id}/snapshot refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(getSnapshot, 'session_busy', { params: { session_id: jammed } });
    await release();
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/snapshot answers 422 for options out of their bounds', async () => {
    for (const [name, value] of [
      ['mode', 'all'],
      ['max_tokens', '99'],
      ['max_tokens', '32001'],
      ['format', 'yaml'],
      ['find', ''],
    ] as const) {
      const [issue] = await served.issues(getSnapshot, { params: { session_id: sessionId }, query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], `${name}=${value}`);
    }
  });
});

describe('502 page_failed', () => {
  it('GET /v1/session/{session_id}/snapshot answers 502 page_failed when the page crashes during the call', async () => {
    const session_id = await muteSession(served);
    const [tab] = (await served.call(listTabs, { params: { session_id } })).body;
    const asking = served.refuse(getSnapshot, 'page_failed', { params: { session_id } });
    await eventually('it is requested', () => drivingOf(served, session_id) === 1);
    machineOf(served, session_id).browser.crashPage(tab?.tab_id ?? '');
    assert.deepEqual((await asking).details, { reason: 'page_crashed' });
  });
});

describe('502 session_lost', () => {
  it('GET /v1/session/{session_id}/snapshot answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(getSnapshot, { params: { session_id } }));
    assertError(reply, 502, 'session_lost');
  });
});
