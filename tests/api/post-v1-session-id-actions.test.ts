import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, runActions } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { assertError, callWhileBrowserDies, endedSession, jammedSession, startingSession } from '../session-states.ts';

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
  it('tells what came of each step, and where the tab is afterwards', async () => {
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

  it('is the answer also where a step fails, and the steps after it are not done', async () => {
    const { body: done } = await run([
      { type: 'navigate', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' },
      { type: 'wait', ms: 1 },
    ]);
    assert.deepEqual(
      done.results.map(({ status, error }) => [status, error?.code]),
      [['error', 'navigation_failed']],
    );
  });

  it('goes on after a failure where that is asked for', async () => {
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

  it('allows no code in the page unless the operator does', async () => {
    const { body: done } = await run([{ type: 'evaluate', expression: '1' }]);
    assert.deepEqual(
      done.results.map(({ error }) => error?.code),
      ['not_allowed'],
    );
  });

  it('comes when the time for all steps is over, and tells what it was over for', async () => {
    const startMs = performance.now();
    const { body: done } = await run(
      [
        { type: 'wait', ms: 100 },
        { type: 'wait', ms: 60_000, timeout_ms: 60_000 },
      ],
      { timeout_ms: 1000 },
    );
    assert.deepEqual(
      done.results.map(({ status, error }) => [status, error?.code]),
      [
        ['ok', undefined],
        ['error', 'timeout'],
      ],
    );
    assert.ok(performance.now() - startMs < 3000);
  });

  it('takes a recording of Chrome instead', async () => {
    const recording = { title: 'Visit', steps: [{ type: 'navigate', url: 'http://site.test/recorded' }] };
    const { body: done } = await served.call(runActions, { params: { session_id: sessionId }, body: { recording } });
    assert.deepEqual([done.final_url, done.results.at(-1)?.status], ['http://site.test/recorded', 'ok']);
  });

  it('counts an action for each step that ran, those in loops on every turn', async () => {
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

  it('tells each step as an event of the session, without its output', async () => {
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

describe('404 session_not_found', () => {
  it('is the answer where there is no session', async () => {
    await served.refuse(runActions, 'session_not_found', { params: { session_id: 'ses_none' }, body });
  });
});

describe('404 tab_not_found', () => {
  it('is the answer for a tab that is not open', async () => {
    await served.refuse(runActions, 'tab_not_found', { params: { session_id: sessionId }, body: { ...body, tab_id: 'ABCDEF' } });
  });
});

describe('409 session_not_ready', () => {
  it('asks for a moment while the session starts', async () => {
    const { sessionId: starting, give } = await startingSession(served);
    await served.refuse(runActions, 'session_not_ready', { params: { session_id: starting }, body });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when the session is over, with the reason', async () => {
    const { details } = await served.refuse(runActions, 'session_ended', { params: { session_id: await endedSession(served) }, body });
    assert.equal(details['ended_reason'], 'requested');
  });
});

describe('409 session_busy', () => {
  it('is told at once to the eighteenth of those who come together', async () => {
    const { sessionId: jammed, give } = await jammedSession(served);
    await served.refuse(runActions, 'session_busy', { params: { session_id: jammed }, body });
    await give();
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
  for (const [what, asked, loc, type] of wrong)
    it(`names the place of ${what}`, async () => {
      const faults = await served.faults(runActions, { params: { session_id: 'ses_none' }, body: asked });
      assert.ok(
        faults.some((fault) => fault.loc.join('.') === loc && fault.type === type),
        JSON.stringify(faults),
      );
    });
});

describe('502 session_lost', () => {
  it('is told to a call whose browser dies before its turn', async () => {
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(runActions, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
  });
});
