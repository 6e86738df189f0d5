/** The order of steps, in a page that is nothing but a table of what its expressions come to. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { Step } from '@berth/contract';
import { BrowserGone, PageError, type Page } from '../../browser/browser.ts';
import { systemClock } from '../../lib/clock.ts';
import { countSteps } from '../steps.ts';
import { run, short } from '../testing.ts';
import type { StepWorld } from '../context.ts';

type Answers = Record<string, (signal: AbortSignal) => unknown>;

/** Expressions are names of answers; the address is the names of those that were asked, in order. */
function tableWorld(answers: Answers): StepWorld & { asked: string[]; gone: AbortController } {
  const asked: string[] = [];
  const gone = new AbortController();
  const page = {
    tabId: 'one',
    gone: gone.signal,
    mainFrame: () => 'frame',
    url: () => `https://page.example/${asked.join('-')}`,
    onDialog: () => () => {},
    release: () => {},
    evaluate: async (_frame: string, expression: string, { signal }: { signal: AbortSignal }) => {
      asked.push(expression);
      await setImmediate();
      return answers[expression]?.(signal) ?? null;
    },
  } as unknown as Page;
  const never = () => Promise.reject(new Error('not in this world'));
  return {
    asked,
    gone,
    mainTabId: 'one',
    tabs: () => [{ tabId: 'one', openerTabId: null, status: 'complete' }],
    page: () => page,
    filePath: never,
    waitForDownload: never,
    setCookie: never,
    content: { convert: never },
    clock: systemClock,
  };
}

const fails = (): never => {
  throw new PageError('script_failed', 'it failed');
};
const step = (expression: string, more: object = {}): object => ({ type: 'evaluate', expression, ...more });
const outputOf = ([first]: readonly { output?: unknown }[]): unknown => first?.output;
const order = { allowEvaluate: true };

describe('a run', () => {
  it('keeps outputs as variables and tells each step', async () => {
    const world = tableWorld({ a: () => 1, b: () => 'x' });
    const { results, vars, stopped } = await run(
      world,
      [step('a', { save_as: 'n' }), step('b', { save_as: 'list[]', id: 'second' }), step('b', { save_as: 'list[]' })],
      order,
    );
    assert.deepEqual(vars, { n: 1, list: ['x', 'x'] });
    assert.equal(stopped, 'done');
    assert.deepEqual(
      results.map(({ index, id, type, status, output }) => [index, id, type, status, output]),
      [
        [0, null, 'evaluate', 'ok', 1],
        [1, 'second', 'evaluate', 'ok', 'x'],
        [2, null, 'evaluate', 'ok', 'x'],
      ],
    );
  });

  it('ends at the first failure, unless it is told not to', async () => {
    const steps = [step('a'), step('bad'), step('c')];
    const stopping = await run(tableWorld({ bad: fails }), steps, order);
    assert.deepEqual([short(stopping.results), stopping.stopped], [['evaluate ok', 'evaluate error script_failed'], 'failed']);
    const going = await run(tableWorld({ bad: fails }), steps, { ...order, stopOnError: false });
    assert.deepEqual([short(going.results), going.stopped], [['evaluate ok', 'evaluate error script_failed', 'evaluate ok'], 'done']);
  });

  it('tells an optional failure as skipped, and goes on', async () => {
    const { results, stopped } = await run(tableWorld({ bad: fails }), [step('bad', { optional: true }), step('c')], order);
    assert.deepEqual([short(results), stopped], [['evaluate skipped script_failed', 'evaluate ok'], 'done']);
  });

  it('skips what its condition does not hold for', async () => {
    const world = tableWorld({});
    const { results } = await run(
      world,
      [step('a'), step('b', { if: { url_matches: '*/a' } }), step('c', { if: { url_matches: 'zzz' } })],
      order,
    );
    assert.deepEqual(
      [short(results), world.asked],
      [
        ['evaluate ok', 'evaluate ok', 'evaluate skipped'],
        ['a', 'b'],
      ],
    );
    assert.equal(results[2]?.error, undefined);
  });

  it('counts the steps that were begun: on every turn, once however often they were tried, and not those that were skipped', async () => {
    const world = tableWorld({ bad: fails });
    const loop = { type: 'repeat', max: 3, steps: [step('a'), step('b', { if: { url_matches: 'zzz' } })] };
    const branch = { type: 'if', if: { url_matches: '/' }, steps: [step('a')], else: [step('c'), step('c')] };
    const steps = [
      step('bad', { optional: true, retries: 1 }),
      loop,
      branch,
      step('c', { if: { url_matches: 'zzz' } }),
      step('bad'),
      step('never'),
    ];
    assert.equal((await run(world, steps, order)).ran, 1 + (1 + 3) + (1 + 1) + 0 + 1);
    assert.equal(countSteps(steps as Step[]), 6 + 2 + 3);
  });

  it('tries again as often as it is told, and tells of the tries', async () => {
    let tries = 0;
    const world = tableWorld({ bad: () => ((tries += 1) < 3 ? fails() : 'at last') });
    const { results } = await run(world, [step('bad', { retries: 2 })], order);
    assert.deepEqual(
      [results[0]?.output, results[0]?.warnings],
      ['at last', ['try 1 failed: script_failed', 'try 2 failed: script_failed']],
    );
  });

  it('does not try again what would come to the same', async () => {
    const world = tableWorld({});
    const { results } = await run(world, [step('{{x', { retries: 5 })], { allowEvaluate: false });
    assert.deepEqual([short(results), world.asked], [['evaluate error not_allowed'], []]);
  });

  it('jumps to the step that it is told to, and not without end', async () => {
    const world = tableWorld({ bad: fails });
    const steps = [step('bad', { on_error: 'goto:end' }), step('between'), step('last', { id: 'end' })];
    assert.deepEqual(short((await run(world, steps, order)).results), ['evaluate error script_failed', 'evaluate ok']);
    assert.deepEqual(world.asked, ['bad', 'last']);
    const circle = await run(tableWorld({ bad: fails }), [step('a', { id: 'a' }), step('bad', { on_error: 'goto:a' })], order);
    assert.deepEqual([circle.stopped, circle.results.length], ['failed', 202]);
  });

  it('goes on after a failure that is to be ignored', async () => {
    const { results, stopped } = await run(tableWorld({ bad: fails }), [step('bad', { on_error: 'continue' }), step('c')], order);
    assert.deepEqual([short(results), stopped], [['evaluate error script_failed', 'evaluate ok'], 'done']);
  });
});

describe('a budget', () => {
  const hangs = (signal: AbortSignal): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    return promise;
  };

  it('of a step ends the step', async () => {
    const { results, stopped } = await run(
      tableWorld({ slow: hangs }),
      [step('slow', { timeout_ms: 100, on_error: 'continue' }), step('b')],
      order,
    );
    assert.deepEqual([short(results), stopped], [['evaluate error timeout', 'evaluate ok'], 'done']);
  });

  it('of the whole ends the run at the step that was running, whatever that says', async () => {
    for (const more of [{}, { optional: true }, { on_error: 'continue' }, { retries: 5 }]) {
      const { results, stopped } = await run(tableWorld({ slow: hangs }), [step('a'), step('slow', more), step('b')], {
        ...order,
        timeoutMs: 150,
      });
      assert.deepEqual([short(results), stopped], [['evaluate ok', 'evaluate error timeout'], 'timeout'], JSON.stringify(more));
    }
  });

  it('of the whole ends loops too', async () => {
    const loop = { type: 'repeat', max: 500, steps: [{ type: 'wait', ms: 20 }] };
    const { results, stopped } = await run(tableWorld({}), [loop, step('b')], { ...order, timeoutMs: 200 });
    assert.deepEqual([short(results), stopped], [['repeat error timeout'], 'timeout']);
  });

  it('is over when the request is', async () => {
    const ended = new AbortController();
    const running = run(tableWorld({ slow: hangs }), [step('slow')], { ...order, signal: ended.signal });
    ended.abort(new Error('the caller left'));
    await assert.rejects(running, /the caller left/);
  });
});

describe('a loop', () => {
  it('goes over a list with a variable for each', async () => {
    const inner = [{ type: 'if', if: { url_matches: '/' }, steps: [step('a', { save_as: 'seen[]' })] }];
    const { results, vars } = await run(
      tableWorld({ a: () => 1 }),
      [{ type: 'for_each', over: '{{inputs.urls}}', as: 'url', steps: inner }],
      {
        ...order,
        inputs: { urls: ['x', 'y'] },
      },
    );
    assert.deepEqual(vars, { url: 'y', seen: [1, 1] });
    const { turns, steps } = outputOf(results) as { turns: number; steps: { turn: number; output: { steps: unknown[] } }[] };
    assert.deepEqual(
      [turns, steps.map(({ turn, output }) => [turn, output.steps.length])],
      [
        2,
        [
          [0, 1],
          [1, 1],
        ],
      ],
    );
  });

  it('refuses what is no list', async () => {
    const { results } = await run(tableWorld({}), [{ type: 'for_each', over: '{{inputs.x}}', steps: [] }], { inputs: { x: 'abc' } });
    assert.deepEqual(short(results), ['for_each error invalid_value']);
  });

  it('ends at its most turns, and when what it waits for has come', async () => {
    const world = tableWorld({});
    const { results } = await run(
      world,
      [
        { type: 'repeat', max: 9, steps: [step('a')], until: { url_matches: 'a-a-a' } },
        { type: 'repeat', max: 2, steps: [step('a')] },
      ],
      order,
    );
    assert.deepEqual(
      results.map(({ output }) => output as { turns: number; stop_reason: string }).map(({ turns, stop_reason }) => [turns, stop_reason]),
      [
        [3, 'until'],
        [2, 'max'],
      ],
    );
  });

  it('fails with the step in it that did, and says which', async () => {
    let turn = 0;
    const world = tableWorld({ b: () => ((turn += 1) === 2 ? fails() : null) });
    const { results, stopped } = await run(world, [{ type: 'repeat', max: 3, steps: [step('a'), step('b')] }], order);
    assert.equal(stopped, 'failed');
    assert.deepEqual(results[0]?.error, { code: 'script_failed', message: 'Step 1 (evaluate) of turn 1: It failed.' });
    assert.equal((outputOf(results) as { steps: unknown[] }).steps.length, 4);
  });

  it('may not run more steps than a run may have', async () => {
    const inner = { type: 'repeat', max: 500, steps: [{ type: 'dialog' }] };
    const { results } = await run(tableWorld({}), [{ type: 'repeat', max: 500, steps: [inner] }]);
    assert.deepEqual(short(results), ['repeat error limit_reached']);
    assert.ok(JSON.stringify(results).length < 1_000_000);
  });
});

describe('a page', () => {
  it('that is gone is told by the step, and the browser that is gone ends the run', async () => {
    const world = tableWorld({
      leaves: () => {
        world.gone.abort(new Error('closed'));
        throw new PageError('context_lost', 'gone');
      },
    });
    assert.deepEqual(short((await run(world, [step('leaves')], order)).results), ['evaluate error page_lost']);
    const dead = tableWorld({
      dies: () => {
        throw new BrowserGone('gone');
      },
    });
    await assert.rejects(run(dead, [step('dies')], order), BrowserGone);
  });

  it('that another step should look at in a tab that is not there is told so', async () => {
    const { results } = await run(tableWorld({}), [step('a', { tab: 'tab_id:x', timeout_ms: 100 }), step('a', { tab: 'newest' })], {
      ...order,
      stopOnError: false,
    });
    assert.deepEqual(short(results), ['evaluate error tab_not_found', 'evaluate ok']);
  });
});
