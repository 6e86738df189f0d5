import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { PageError } from '@berth/devtools';
import { ManualClock } from '@berth/lib/clock.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';
import { FakeMetering, fakeSession } from '../../../testing/accounts/drive-metering.ts';
import { runAction, type Action, type RunDeps, type Target, type Work } from './run-action.ts';

const machine = {} as Machine;
const target: Target = { owner: 'anna', sessionId: 'ses_1', signal: new AbortController().signal };

function makeRun() {
  const metering = new FakeMetering();
  const clock = new ManualClock();
  const { session, emitted } = fakeSession();
  const abort = new AbortController();
  const sessionSignal = new AbortController().signal;
  Object.assign(session, { abort, touch: () => undefined });
  const queue = { isFull: false, isHeld: false };
  const withBrowser: RunDeps['sessions']['withBrowser'] = async (_owner, _sessionId, _options, work) => {
    if (queue.isFull) throw new ServiceError('session_busy', 'Too many calls.');
    queue.isHeld = true;
    try {
      return await work(machine, sessionSignal, session);
    } finally {
      queue.isHeld = false;
    }
  };
  const ready = (): Promise<{ session: LiveSession; machine: Machine }> => Promise.resolve({ session, machine });
  const deps: RunDeps = { ...metering, clock, sessions: { ...metering.sessions, withBrowser, ready } };
  const run = <W, T = W>(work: Work<W>, action: Partial<Action<W, T>> = {}, at = target) =>
    runAction(deps, at, { name: 'navigate', ...action }, work);
  return { metering, clock, emitted, abort, queue, run };
}

describe('what a call costs', () => {
  it('the cost of a call is held before the work and charged by its result', async () => {
    const { metering, run } = makeRun();
    const cost = { count: 3, countOf: (result: string) => result.length };
    const work = async (): Promise<string> => {
      assert.deepEqual([metering.admitted, metering.ends], [[{ axis: 'action', count: 3 }], []]);
      return 'four';
    };
    assert.equal(await run(work, { cost }), 'four');
    assert.deepEqual(metering.ends, [4]);
  });

  it('a call costs nothing when the work or what follows it fails, and the error is rethrown', async () => {
    for (const action of [{}, { finish: () => Promise.reject(new ServiceError('tab_not_found', 'No such tab.')) }]) {
      const { metering, run } = makeRun();
      const work = () => ('finish' in action ? Promise.resolve(1) : Promise.reject(new ServiceError('tab_not_found', 'No such tab.')));
      await assert.rejects(run(work, action), { code: 'tab_not_found' });
      assert.deepEqual(metering.ends, ['dropped']);
    }
  });

  it('the cost of a call is not held when its turn never comes', async () => {
    const { metering, queue, run } = makeRun();
    queue.isFull = true;
    await assert.rejects(
      run(() => Promise.resolve()),
      { code: 'session_busy' },
    );
    assert.deepEqual([metering.admitted, metering.ends], [[], []]);
  });

  it('the cost of a call must be covered before the work starts', async () => {
    const { metering, emitted, run } = makeRun();
    metering.refusal = 'plan_limit_exceeded';
    await assert.rejects(
      run(() => assert.fail('it started')),
      { code: 'plan_limit_exceeded' },
    );
    assert.deepEqual([metering.ends, emitted], [[], []]);
  });

  it('a free call, and a call of a person in the live view, cost nothing', async () => {
    const { metering, run } = makeRun();
    await run(() => Promise.resolve(), { cost: null });
    await run(() => Promise.resolve(), {}, { ...target, isFree: true });
    assert.deepEqual([metering.admitted, metering.ends], [[], []]);
  });
});

describe('the queue of a session', () => {
  it('the queue of a session is held during the work, and not while its result is finished', async () => {
    const { queue, run } = makeRun();
    const result = await run(() => Promise.resolve(queue.isHeld), { finish: (during) => Promise.resolve([during, queue.isHeld]) });
    assert.deepEqual(result, [true, false]);
  });

  it('a call that needs no turn does not take the queue of a session', async () => {
    const { queue, run } = makeRun();
    queue.isFull = true;
    assert.equal(await run((_machine, signal) => Promise.resolve(signal === target.signal), { isQueued: false }), true);
  });
});

describe('an action', () => {
  it('an action is reported when it is done, with its duration and its URL', async () => {
    const { clock, emitted, run } = makeRun();
    await run(
      async () => {
        assert.deepEqual(emitted, []);
        clock.advance(42.4);
      },
      { url: 'https://shop.test/' },
    );
    assert.deepEqual(emitted, [['action', { name: 'navigate', status: 'ok', duration_ms: 42, url: 'https://shop.test/' }]]);
  });

  it('an action is reported with the code of a ServiceError, and no detail of other errors', async () => {
    const { emitted, run } = makeRun();
    await assert.rejects(
      run(() => Promise.reject(new PageError('timeout', 'Late.'))),
      { code: 'page_failed' },
    );
    await assert.rejects(
      run(() => Promise.reject(new Error('of a secret kind'))),
      /secret/,
    );
    assert.deepEqual(emitted, [
      ['action', { name: 'navigate', status: 'error', error_code: 'page_failed', duration_ms: 0 }],
      ['action', { name: 'navigate', status: 'error', duration_ms: 0 }],
    ]);
  });

  it('an action is not reported after the end of its session', async () => {
    const { abort, emitted, run } = makeRun();
    const work = (): Promise<void> => {
      abort.abort();
      return Promise.reject(new Error('ended'));
    };
    await assert.rejects(run(work), /ended/);
    assert.deepEqual(emitted, []);
  });
});
