/** Control flow of steps, in a fake page with a table of the values of its expressions. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { Step } from '@berth/contract';
import { BrowserClosedError, PageError, type Page } from '../../browser/browser.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { countSteps } from '../steps.ts';
import { run, summarize } from '../../../testing/steps.ts';
import type { StepContext } from '../context.ts';

type Answers = Record<string, (signal: AbortSignal) => unknown>;

/** Expressions are names in the table. The URL lists those that were evaluated, in order. */
function createTableContext(answers: Answers): StepContext & { evaluated: string[]; closed: AbortController } {
  const evaluated: string[] = [];
  const closed = new AbortController();
  const page = {
    tabId: 'one',
    closed: closed.signal,
    mainFrame: () => 'frame',
    url: () => `https://page.example/${evaluated.join('-')}`,
    onDialog: () => () => {},
    release: () => {},
    evaluate: async (_frame: string, expression: string, { signal }: { signal: AbortSignal }) => {
      evaluated.push(expression);
      await setImmediate();
      return answers[expression]?.(signal) ?? null;
    },
  } as unknown as Page;
  const unexpected = () => Promise.reject(new Error('not in this context'));
  return {
    evaluated,
    closed,
    mainTabId: 'one',
    tabs: () => [{ tabId: 'one', openerTabId: null, status: 'complete' }],
    page: () => page,
    filePath: unexpected,
    waitForDownload: unexpected,
    setCookie: unexpected,
    cookies: unexpected,
    content: { convert: unexpected },
    clock: systemClock,
  };
}

const fails = (): never => {
  throw new PageError('script_failed', 'it failed');
};
const step = (expression: string, more: object = {}): object => ({ type: 'evaluate', expression, ...more });
const outputOf = ([first]: readonly { output?: unknown }[]): unknown => first?.output;
const options = { allowEvaluate: true };

describe('a run', () => {
  it('a run saves outputs as variables and reports each step', async () => {
    const context = createTableContext({ a: () => 1, b: () => 'x' });
    const { results, vars, stopped } = await run(
      context,
      [step('a', { save_as: 'n' }), step('b', { save_as: 'list[]', id: 'second' }), step('b', { save_as: 'list[]' })],
      options,
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

  it('a run ends at the first failure, unless stopOnError is off', async () => {
    const steps = [step('a'), step('bad'), step('c')];
    const failFast = await run(createTableContext({ bad: fails }), steps, options);
    assert.deepEqual([summarize(failFast.results), failFast.stopped], [['evaluate ok', 'evaluate error script_failed'], 'failed']);
    const continuing = await run(createTableContext({ bad: fails }), steps, { ...options, stopOnError: false });
    assert.deepEqual(
      [summarize(continuing.results), continuing.stopped],
      [['evaluate ok', 'evaluate error script_failed', 'evaluate ok'], 'done'],
    );
  });

  it('a run reports an optional failure as skipped, and continues', async () => {
    const { results, stopped } = await run(createTableContext({ bad: fails }), [step('bad', { optional: true }), step('c')], options);
    assert.deepEqual([summarize(results), stopped], [['evaluate skipped script_failed', 'evaluate ok'], 'done']);
  });

  it('a run skips a step whose condition is not met', async () => {
    const context = createTableContext({});
    const { results } = await run(
      context,
      [step('a'), step('b', { if: { url_matches: '*/a' } }), step('c', { if: { url_matches: 'zzz' } })],
      options,
    );
    assert.deepEqual(
      [summarize(results), context.evaluated],
      [
        ['evaluate ok', 'evaluate ok', 'evaluate skipped'],
        ['a', 'b'],
      ],
    );
    assert.equal(results[2]?.error, undefined);
  });

  it('a run counts started steps: on every turn, once for all attempts, and not those that were skipped', async () => {
    const context = createTableContext({ bad: fails });
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
    assert.equal((await run(context, steps, options)).stepsRun, 1 + (1 + 3) + (1 + 1) + 0 + 1);
    assert.equal(countSteps(steps as Step[]), 6 + 2 + 3);
  });

  it('a run retries a step as often as asked, and reports the failed attempts', async () => {
    let attempts = 0;
    const context = createTableContext({ bad: () => ((attempts += 1) < 3 ? fails() : 'at last') });
    const { results } = await run(context, [step('bad', { retries: 2 })], options);
    assert.deepEqual(
      [results[0]?.output, results[0]?.warnings],
      ['at last', ['attempt 1 failed: script_failed', 'attempt 2 failed: script_failed']],
    );
  });

  it('a run does not retry a step that would fail in the same way', async () => {
    const context = createTableContext({});
    const { results } = await run(context, [step('{{x', { retries: 5 })], { allowEvaluate: false });
    assert.deepEqual([summarize(results), context.evaluated], [['evaluate error not_allowed'], []]);
  });

  it('a run jumps to the named step, and not without end', async () => {
    const context = createTableContext({ bad: fails });
    const steps = [step('bad', { on_error: 'goto:end' }), step('between'), step('last', { id: 'end' })];
    assert.deepEqual(summarize((await run(context, steps, options)).results), ['evaluate error script_failed', 'evaluate ok']);
    assert.deepEqual(context.evaluated, ['bad', 'last']);
    const circle = await run(createTableContext({ bad: fails }), [step('a', { id: 'a' }), step('bad', { on_error: 'goto:a' })], options);
    assert.deepEqual([circle.stopped, circle.results.length], ['failed', 202]);
  });

  it('a run continues after a failure with on_error continue', async () => {
    const { results, stopped } = await run(createTableContext({ bad: fails }), [step('bad', { on_error: 'continue' }), step('c')], options);
    assert.deepEqual([summarize(results), stopped], [['evaluate error script_failed', 'evaluate ok'], 'done']);
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

  it('the timeout of a step ends the step', async () => {
    const { results, stopped } = await run(
      createTableContext({ slow: hangs }),
      [step('slow', { timeout_ms: 100, on_error: 'continue' }), step('b')],
      options,
    );
    assert.deepEqual([summarize(results), stopped], [['evaluate error timeout', 'evaluate ok'], 'done']);
  });

  it('the timeout of a run ends it at the running step, whatever its on_error says', async () => {
    // Enough for the first step.
    const brief = { ...options, timeoutMs: 1000 };
    const cases = [{}, { optional: true }, { on_error: 'continue' }, { retries: 5 }];
    await Promise.all(
      cases.map(async (more) => {
        const { results, stopped } = await run(createTableContext({ slow: hangs }), [step('a'), step('slow', more), step('b')], brief);
        assert.deepEqual([summarize(results), stopped], [['evaluate ok', 'evaluate error timeout'], 'timeout'], JSON.stringify(more));
      }),
    );
  });

  it('the timeout of a run ends loops too', async () => {
    const loop = { type: 'repeat', max: 500, steps: [{ type: 'wait', ms: 20 }] };
    const { results, stopped } = await run(createTableContext({}), [loop, step('b')], { ...options, timeoutMs: 200 });
    assert.deepEqual([summarize(results), stopped], [['repeat error timeout'], 'timeout']);
  });

  it('a run ends with the request', async () => {
    const ended = new AbortController();
    const running = run(createTableContext({ slow: hangs }), [step('slow')], { ...options, signal: ended.signal });
    ended.abort(new Error('the caller disconnected'));
    await assert.rejects(running, /the caller disconnected/);
  });
});

describe('a loop', () => {
  it('a loop iterates over a list and sets a variable for each item', async () => {
    const inner = [{ type: 'if', if: { url_matches: '/' }, steps: [step('a', { save_as: 'seen[]' })] }];
    const { results, vars } = await run(
      createTableContext({ a: () => 1 }),
      [{ type: 'for_each', over: '{{inputs.urls}}', as: 'url', steps: inner }],
      {
        ...options,
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

  it('a loop rejects a value that is not a list', async () => {
    const { results } = await run(createTableContext({}), [{ type: 'for_each', over: '{{inputs.x}}', steps: [] }], {
      inputs: { x: 'abc' },
    });
    assert.deepEqual(summarize(results), ['for_each error invalid_value']);
  });

  it('a loop ends at its maximum of turns, and when its until condition is met', async () => {
    const context = createTableContext({});
    const { results } = await run(
      context,
      [
        { type: 'repeat', max: 9, steps: [step('a')], until: { url_matches: 'a-a-a' } },
        { type: 'repeat', max: 2, steps: [step('a')] },
      ],
      options,
    );
    assert.deepEqual(
      results.map(({ output }) => output as { turns: number; stop_reason: string }).map(({ turns, stop_reason }) => [turns, stop_reason]),
      [
        [3, 'until'],
        [2, 'max'],
      ],
    );
  });

  it('a loop fails with its failed step, and names it', async () => {
    let turn = 0;
    const context = createTableContext({ b: () => ((turn += 1) === 2 ? fails() : null) });
    const { results, stopped } = await run(context, [{ type: 'repeat', max: 3, steps: [step('a'), step('b')] }], options);
    assert.equal(stopped, 'failed');
    assert.deepEqual(results[0]?.error, { code: 'script_failed', message: 'Step 1 (evaluate) of turn 1: It failed.' });
    assert.equal((outputOf(results) as { steps: unknown[] }).steps.length, 4);
  });

  it('the steps of a loop count towards the step limit of the run', async () => {
    const inner = { type: 'repeat', max: 500, steps: [{ type: 'dialog' }] };
    const { results } = await run(createTableContext({}), [{ type: 'repeat', max: 500, steps: [inner] }]);
    assert.deepEqual(summarize(results), ['repeat error limit_reached']);
    assert.ok(JSON.stringify(results).length < 1_000_000);
  });
});

describe('a page', () => {
  it('a page that closes fails the step, and a closed browser ends the run', async () => {
    const context = createTableContext({
      leaves: () => {
        context.closed.abort(new Error('closed'));
        throw new PageError('context_lost', 'closed');
      },
    });
    assert.deepEqual(summarize((await run(context, [step('leaves')], options)).results), ['evaluate error page_lost']);
    const crashed = createTableContext({
      dies: () => {
        throw new BrowserClosedError('gone');
      },
    });
    await assert.rejects(run(crashed, [step('dies')], options), BrowserClosedError);
  });

  it('a step in a tab that does not exist fails', async () => {
    const { results } = await run(createTableContext({}), [step('a', { tab: 'tab_id:x', timeout_ms: 100 }), step('a', { tab: 'newest' })], {
      ...options,
      stopOnError: false,
    });
    assert.deepEqual(summarize(results), ['evaluate error tab_not_found', 'evaluate ok']);
  });
});
