import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, navigate, useComputer } from '@berth/contract';
import { assertSoon, startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession, muteSession } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = { actions: [{ type: 'wait', ms: 1 }] };
const use = (actions: unknown[], more: Record<string, unknown> = {}) =>
  served.call(useComputer, { params: { session_id: sessionId }, body: { actions, ...more } });

describe('200', () => {
  it('POST /v1/session/{session_id}/computer returns a result for each action and one screenshot', async () => {
    const { body: done } = await use([
      { type: 'click', x: 10, y: 10 },
      { type: 'key', keys: 'ctrl+a' },
    ]);
    assert.deepEqual(
      done.results.map(({ index, type, status }) => [index, type, status]),
      [
        [0, 'click', 'ok'],
        [1, 'key', 'ok'],
      ],
    );
    assert.deepEqual([done.status, done.failed_index, done.screenshot?.content_type], ['ok', null, 'image/png']);
  });

  it('POST /v1/session/{session_id}/computer without a body takes a screenshot', async () => {
    const { body: done } = await served.call(useComputer, { params: { session_id: sessionId } });
    assert.deepEqual([done.results, done.screenshot?.content_type, done.scale], [[], 'image/png', 1]);
  });

  it('POST /v1/session/{session_id}/computer ends with the action that fails, and charges those that ran', async () => {
    const usage = async () => (await served.call(getSession, { params: { session_id: sessionId } })).body.usage.actions;
    const before = await usage();
    const { body: done } = await use([
      { type: 'move', x: 1, y: 1 },
      { type: 'click', x: 16_000, y: 1 },
      { type: 'move', x: 2, y: 2 },
    ]);
    assert.deepEqual([done.status, done.failed_index, done.results.at(-1)?.error?.code], ['error', 1, 'out_of_bounds']);
    assert.equal((await usage()) - before, 2);
  });
});

describe('404 tab_not_found', () => {
  it('POST /v1/session/{session_id}/computer answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(useComputer, 'tab_not_found', { params: { session_id: sessionId }, body: { tab_id: 'ABCDEF' } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/computer refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(useComputer, 'session_busy', { params: { session_id: jammed }, body });
    await release();
  });
});

describe('422', () => {
  for (const [what, refused, loc] of [
    ['an unknown action', { actions: [{ type: 'fly' }] }, ['body', 'actions', '0', 'type']],
    ['half a place', { actions: [{ type: 'click', x: 1 }] }, ['body', 'actions', '0', 'y']],
    ['a drag to nowhere', { actions: [{ type: 'drag', path: [{ x: 1, y: 1 }] }] }, ['body', 'actions', '0', 'path']],
    ['too many pictures', { actions: Array.from({ length: 6 }, () => ({ type: 'screenshot' })) }, ['body', 'actions']],
    ['too many actions', { actions: Array.from({ length: 51 }, () => ({ type: 'cursor' })) }, ['body', 'actions']],
  ] as const)
    it(`POST /v1/session/{session_id}/computer refuses ${what}`, async () => {
      const [issue] = await served.issues(useComputer, { params: { session_id: sessionId }, body: refused });
      assert.deepEqual(issue?.loc, loc);
    });
});

describe('502 page_failed', () => {
  it('POST /v1/session/{session_id}/computer answers 502 page_failed when the page hangs, and the session continues', async () => {
    const session_id = await muteSession(served);
    const startMs = performance.now();
    const { details } = await served.refuse(useComputer, 'page_failed', { params: { session_id }, body: { timeout_ms: 1000 } });
    assert.deepEqual(details, { reason: 'timeout' });
    assertSoon(startMs);
    assert.equal((await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } })).status, 200);
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/computer answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(useComputer, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
