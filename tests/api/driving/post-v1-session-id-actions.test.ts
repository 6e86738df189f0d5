import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, runActions } from '@berth/contract';
import { assertSoon, startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = { actions: [{ type: 'wait', ms: 1 }] };
const run = (actions: unknown[], more: Record<string, unknown> = {}) =>
  served.call(runActions, { params: { session_id: sessionId }, body: { actions, ...more } });

describe('200', () => {
  it('POST /v1/session/{session_id}/actions returns the result of each step and the tab’s final address', async () => {
    const { body: done } = await run(
      [
        { type: 'navigate', url: 'http://site.test/a', id: 'open' },
        { type: 'wait', ms: 5 },
        { type: 'navigate', url: '{{inputs.where}}' },
      ],
      { inputs: { where: 'http://site.test/b' } },
    );
    assert.deepEqual(
      done.results.map(({ index, id, type, status }) => [index, id, type, status]),
      [
        [0, 'open', 'navigate', 'ok'],
        [1, null, 'wait', 'ok'],
        [2, null, 'navigate', 'ok'],
      ],
    );
    assert.equal(done.final_url, 'http://site.test/b');
    assert.ok(done.duration_ms >= 5 && done.tab_id !== '');
  });

  it('POST /v1/session/{session_id}/actions reports a failed step and skips the steps after it', async () => {
    const { body: done } = await run([
      { type: 'navigate', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' },
      { type: 'wait', ms: 1 },
    ]);
    assert.deepEqual(
      done.results.map(({ status, error }) => [status, error?.code]),
      [['error', 'navigation_failed']],
    );
    assert.deepEqual([done.status, done.failed_index], ['error', 0]);
  });

  it('POST /v1/session/{session_id}/actions says whether a step failed, and which was the first', async () => {
    const fails = { type: 'navigate', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' };
    const wait = { type: 'wait', ms: 1 };
    const outcome = async (actions: object[]) => {
      const { body: done } = await run(actions, { stop_on_error: false });
      return [done.status, done.failed_index];
    };
    assert.deepEqual(await outcome([wait]), ['ok', null]);
    assert.deepEqual(await outcome([wait, fails, fails]), ['error', 1]);
    assert.deepEqual(await outcome([{ ...fails, optional: true }, wait]), ['ok', null]);
  });

  it('POST /v1/session/{session_id}/actions continues after a failed step when requested', async () => {
    const { body: done } = await run(
      [
        { type: 'navigate', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' },
        { type: 'wait', ms: 1 },
      ],
      { stop_on_error: false },
    );
    assert.deepEqual(
      done.results.map(({ status }) => status),
      ['error', 'ok'],
    );
  });

  it('POST /v1/session/{session_id}/actions refuses JavaScript steps unless the operator allows them', async () => {
    const { body: done } = await run([{ type: 'evaluate', expression: '1' }]);
    assert.deepEqual(
      done.results.map(({ error }) => error?.code),
      ['not_allowed'],
    );
  });

  it('POST /v1/session/{session_id}/actions answers when the total timeout has passed, with the interrupted step', async () => {
    const startMs = performance.now();
    const { body: done } = await run(
      [
        { type: 'wait', ms: 100 },
        { type: 'wait', ms: 60_000, timeout_ms: 60_000 },
      ],
      { timeout_ms: 3000 },
    );
    assert.deepEqual(
      done.results.map(({ status, error }) => [status, error?.code]),
      [
        ['ok', undefined],
        ['error', 'timeout'],
      ],
    );
    assertSoon(startMs);
  });

  it('POST /v1/session/{session_id}/actions accepts a Chrome Recorder recording', async () => {
    const recording = { title: 'Visit', steps: [{ type: 'navigate', url: 'http://site.test/recorded' }] };
    const { body: done } = await served.call(runActions, { params: { session_id: sessionId }, body: { recording } });
    assert.deepEqual([done.final_url, done.results.at(-1)?.status], ['http://site.test/recorded', 'ok']);
  });

  it('POST /v1/session/{session_id}/actions counts an action for each executed step, once per loop iteration', async () => {
    const { session_id } = await served.create();
    await served.call(runActions, {
      params: { session_id },
      body: {
        actions: [
          { type: 'wait', ms: 1 },
          { type: 'repeat', max: 3, steps: [{ type: 'wait', ms: 1 }] },
          { type: 'wait', ms: 1, if: { url_matches: 'nowhere' } },
        ],
      },
    });
    assert.equal((await served.call(getSession, { params: { session_id } })).body.usage.actions, 5);
  });

  it('POST /v1/session/{session_id}/actions emits a session event for each step, without its output', async () => {
    const { session_id } = await served.create();
    await served.call(runActions, {
      params: { session_id },
      body: {
        actions: [
          { type: 'wait', ms: 1, id: 'a' },
          { type: 'navigate', url: 'http://fail-ERR_FAILED.test/' },
        ],
      },
    });
    const events =
      served.app.sessions.live
        .get(session_id)
        ?.events.after(0)
        .filter(({ type }) => type === 'actions.step') ?? [];
    assert.deepEqual(
      events.map(({ data: { index, id, step, status, error } }) => [index, id, step, status, error]),
      [
        [0, 'a', 'wait', 'ok', null],
        [1, null, 'navigate', 'error', 'navigation_failed'],
      ],
    );
  });
});

describe('404 tab_not_found', () => {
  it('POST /v1/session/{session_id}/actions answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(runActions, 'tab_not_found', { params: { session_id: sessionId }, body: { ...body, tab_id: 'ABCDEF' } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/actions refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    await served.refuse(runActions, 'session_busy', { params: { session_id: jammed }, body });
    await release();
  });
});

describe('422', () => {
  const wrong: [string, Record<string, unknown>, string, string][] = [
    ['neither steps nor a recording', {}, 'body.actions', 'missing'],
    ['both of them', { ...body, recording: { steps: [] } }, 'body.actions', 'value_error'],
    ['no step at all', { actions: [] }, 'body.actions', 'too_short'],
    ['more steps than may be', { actions: Array(51).fill(body.actions[0]) }, 'body.actions', 'too_long'],
    ['a step of no known type', { actions: [{ type: 'dance' }] }, 'body.actions.0.type', 'literal_error'],
    ['an address that is no page', { actions: [{ type: 'navigate', url: 'file:///etc/passwd' }] }, 'body.actions.0.url', 'url_scheme'],
    [
      'a field that the step does not have',
      { actions: [{ type: 'wait', ms: 1, timeout: 3 }] },
      'body.actions.0.timeout',
      'extra_forbidden',
    ],
    [
      'a step that goes to one that is not there',
      { actions: [{ type: 'wait', ms: 1, on_error: 'goto:nowhere' }] },
      'body.actions.0.on_error',
      'value_error',
    ],
    ['a recording that is none', { recording: { steps: 'many' } }, 'body.recording.steps', 'list_type'],
  ];
  for (const [what, action, loc, type] of wrong)
    it(`POST /v1/session/{session_id}/actions answers 422 with the location of ${what}`, async () => {
      const issues = await served.issues(runActions, { params: { session_id: 'ses_none' }, body: action });
      assert.ok(
        issues.some((issue) => issue.loc.join('.') === loc && issue.type === type),
        JSON.stringify(issues),
      );
    });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/actions answers 502 session_lost for a queued call when the browser crashes', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(runActions, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
