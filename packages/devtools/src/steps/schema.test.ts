/** The schema of steps in a request: which are rejected, and with which path. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Steps, createOpenApiDocument, runActions, type Step } from '@berth/contract';
import * as fc from 'fast-check';
import { z } from 'zod';
import { parsePart } from '@berth/lib/validation/issues.ts';

const Body = z.strictObject({ actions: Steps });
const issuesOf = (...actions: unknown[]): string[] => {
  const parsed = parsePart('body', Body, { actions });
  return parsed.ok ? [] : parsed.issues.map(({ loc, type }) => `${loc.join('.')} ${type}`);
};
const stepOf = (written: object): Step => {
  const [step] = Steps.parse([written]);
  assert.ok(step);
  return step;
};

test('the schema of steps reports each issue of a step with its path', () => {
  const cases: [unknown, string[]][] = [
    [{ type: 'clack' }, ['type literal_error']],
    [{}, ['type missing']],
    [{ type: 7 }, ['type literal_error']],
    [{ type: 'click' }, ['selectors missing']],
    [{ type: 'click', selectors: [] }, ['selectors too_short']],
    [{ type: 'click', selectors: 'a' }, ['selectors list_type']],
    [{ type: 'click', selectors: ['a'], timeout: 5 }, ['timeout extra_forbidden']],
    [{ type: 'click', selectors: ['a', 'word/x'] }, ['selectors.1 selector']],
    [{ type: 'click', selectors: ['a', 7] }, ['selectors.1 value_error']],
    [{ type: 'click', selectors: ['a', 'x'.repeat(2001)] }, ['selectors.1 string_too_long']],
    [{ type: 'click', selectors: [['a', 'x'.repeat(2001)]] }, ['selectors.0.1 string_too_long']],
    [{ type: 'click', selectors: ['a'], timeout_ms: 99 }, ['timeout_ms greater_than_equal']],
    [{ type: 'click', selectors: ['a'], timeout_ms: 120_001 }, ['timeout_ms less_than_equal']],
    [{ type: 'click', selectors: ['a'], retries: 6 }, ['retries less_than_equal']],
    [{ type: 'click', selectors: ['a'], count: '2' }, ['count int_parsing']],
    [{ type: 'click', selectors: ['a'], if: {} }, ['if missing']],
    [{ type: 'click', selectors: ['a'], if: { exists: ['#x', ''] } }, ['if.exists.1 string_too_short']],
    [{ type: 'click', selectors: ['a'], on_error: 'heal' }, ['on_error string_pattern_mismatch']],
    [{ type: 'click', selectors: ['a'], save_as: '__proto__.x' }, ['save_as string_pattern_mismatch']],
    [{ type: 'navigate', url: 'file:///etc/passwd' }, ['url url_scheme']],
    [{ type: 'navigate', url: 'example' }, ['url url_parsing']],
    [{ type: 'fill', selectors: ['a'], value: '{{other.x}}' }, ['value template']],
    [{ type: 'fill', selectors: ['a'], value: '{{vars.x | upper}}' }, ['value template']],
    [{ type: 'fill', selectors: ['a'], value: '{{vars.x' }, ['value template']],
    [{ type: 'wait' }, [' missing']],
    [{ type: 'wait', ms: 1, text: 'x' }, ['text value_error']],
    [{ type: 'wait', ms: 1, state: 'hidden' }, ['state value_error']],
    [{ type: 'wait', url: '/(/' }, ['url pattern']],
    [
      { type: 'repeat', steps: [{ type: 'for_each', over: '{{vars.x}}', steps: [{ type: 'nope' }] }] },
      ['steps.0.steps.0.type literal_error'],
    ],
    [
      {
        type: 'if',
        if: { text: 'a' },
        steps: [],
        else: [
          { type: 'press', keys: 'A' },
          { type: 'fill', selectors: ['a'] },
        ],
      },
      ['else.1.value missing'],
    ],
    [{ type: 'repeat', steps: [], max: 501 }, ['max less_than_equal']],
    [7, [' dict_type']],
    [null, [' dict_type']],
    [[], [' dict_type']],
  ];
  for (const [written, issues] of cases)
    assert.deepEqual(
      issuesOf({ type: 'reload' }, written),
      issues.map((issue) => `body.actions.1${issue.startsWith(' ') ? '' : '.'}${issue}`),
      JSON.stringify(written),
    );
});

test('the schema of steps rejects references to nothing, at any depth', () => {
  const click = { type: 'click', selectors: ['a'] };
  const cases: [object[], string[]][] = [
    [
      [
        { ...click, id: 'a' },
        { ...click, id: 'a' },
      ],
      ['1.id value_error'],
    ],
    [[{ ...click, on_error: 'goto:b' }], ['0.on_error value_error']],
    [
      [
        { ...click, on_error: 'goto:b' },
        { type: 'repeat', steps: [{ ...click, id: 'b' }] },
      ],
      ['0.on_error value_error'],
    ],
    [
      [
        {
          type: 'repeat',
          steps: [
            { ...click, on_error: 'goto:b' },
            { ...click, id: 'b' },
          ],
        },
      ],
      [],
    ],
    [[{ ...click, tab: 'opened_by:x' }], ['0.tab value_error']],
    [
      [
        { ...click, id: 'x' },
        { type: 'if', if: { text: 'a' }, steps: [], else: [{ ...click, tab: 'opened_by:x' }] },
      ],
      [],
    ],
    [[{ ...click, within: 'row' }], ['0.within value_error']],
    [[{ type: 'for_each', over: '{{vars.l}}', as: 'row', steps: [{ ...click, within: 'row' }] }], ['0.steps.0.within value_error']],
    [[{ type: 'for_each', selectors: ['tr'], as: 'row', steps: [{ ...click, within: 'row' }] }], []],
  ];
  for (const [steps, issues] of cases)
    assert.deepEqual(
      issuesOf(...steps),
      issues.map((issue) => `body.actions.${issue}`),
      JSON.stringify(steps),
    );
});

test('the schema of steps limits their number and depth', () => {
  const reload = { type: 'reload' };
  assert.deepEqual(issuesOf(...Array.from({ length: 51 }, () => reload)), ['body.actions too_long']);
  const nested = (depth: number): object => (depth === 0 ? reload : { type: 'repeat', steps: [nested(depth - 1)] });
  assert.deepEqual(issuesOf(nested(3)), []);
  assert.deepEqual(issuesOf(nested(4)), [`body.actions.0${'.steps.0'.repeat(3)}.steps too_deep`]);
  const wide = { type: 'repeat', steps: Array.from({ length: 49 }, () => reload) };
  assert.deepEqual(issuesOf(...Array.from({ length: 11 }, () => wide)), ['body.actions too_long']);
});

test('the schema of steps accepts every form of selector', () => {
  for (const selector of [
    '#a',
    'xpath//html/body',
    '//a[1]',
    'text/Buy',
    'aria/Search[role="textbox"]',
    'aria/[role="button"]',
    'label/Name',
    'placeholder/x',
    'testid/y',
    'pierce/b',
    ['iframe', 'text/x'],
  ])
    assert.deepEqual(issuesOf({ type: 'click', selectors: [selector] }), [], String(selector));
  for (const selector of ['', '  ', 'text/', 'foo/bar', 'Text/a', []])
    assert.notDeepEqual(issuesOf({ type: 'click', selectors: [selector] }), [], String(selector));
});

test('the schema of steps applies the defaults of each step', () => {
  const step = stepOf({ type: 'click', selectors: ['a'] });
  assert.deepEqual([step.timeout_ms, step.retries, step.optional, step.on_error, step.tab], [10_000, 0, false, 'fail', 'main']);
  assert.equal(stepOf({ type: 'navigate', url: 'https://a.example/' }).timeout_ms, 30_000);
});

test('the schema of steps is in the OpenAPI document by name, nested steps by reference', () => {
  const { components } = createOpenApiDocument({ endpoints: [runActions], version: '1' }) as {
    components: { schemas: Record<string, object> };
  };
  for (const name of ['Step', 'ClickStep', 'ForEachStep', 'StepResult', 'Selector']) assert.ok(components.schemas[name], name);
  const text = JSON.stringify(components.schemas['ForEachStep'] ?? components.schemas['ForEachStepInput']);
  assert.match(text, /"items":\{"\$ref":"#\/components\/schemas\/Step(Input)?"\}/);
  assert.ok(!text.includes('"$ref":"#"') && !text.includes('$defs'));
});

test('the schema of steps returns issues for any JSON, and never throws', () => {
  const name = fc.constantFrom('type', 'selectors', 'steps', 'if', 'else', 'over', 'value', 'url', '__proto__');
  const type = fc.constantFrom('click', 'repeat', 'for_each', 'if', 'extract', 'wait');
  const step = fc.letrec((tie) => ({
    step: fc.dictionary(
      name,
      fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 1 }), type, tie('step'), fc.array(tie('step'), { maxLength: 3 })),
    ),
  })).step;
  fc.assert(
    fc.property(step, (written) => {
      for (const issue of issuesOf(written)) assert.match(issue, /^body\.actions/);
    }),
    { numRuns: 200 },
  );
});
