import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValidationError } from '@berth/contract';
import { importRecorder } from './recorder.ts';

const imported = (...steps: unknown[]) => importRecorder({ title: 'r', steps }).steps;
const issuesOf = (recording: unknown): string[] => {
  try {
    importRecorder(recording);
    return [];
  } catch (error) {
    assert.ok(error instanceof ValidationError);
    return error.detail.map(({ loc, type }) => `${loc.join('.')} ${type}`);
  }
};
const selectors = [['aria/Buy'], ['#buy'], ['xpath///*[@id="buy"]'], ['pierce/#buy'], ['my-app', '#buy']];

test('a recording is imported as the Recorder exports it', () => {
  const steps = imported(
    { type: 'setViewport', width: 1200, height: 800, deviceScaleFactor: 1, isMobile: false, hasTouch: false, isLandscape: false },
    {
      type: 'navigate',
      url: 'https://shop.example/',
      assertedEvents: [{ type: 'navigation', url: 'https://shop.example/', title: 'Shop' }],
    },
    { type: 'click', target: 'main', selectors, offsetX: 3.5, offsetY: 4 },
    { type: 'doubleClick', selectors, offsetX: 1, offsetY: 1, button: 'secondary', duration: 50.4 },
    { type: 'change', selectors, value: 'Ann', target: 'main' },
    { type: 'hover', selectors },
    { type: 'scroll', x: 0, y: 400 },
    { type: 'waitForElement', selectors, visible: true, timeout: 5000 },
    { type: 'waitForElement', selectors, count: 3, operator: '>=' },
    { type: 'waitForExpression', expression: 'window.ready' },
    { type: 'click', selectors, offsetX: 1, offsetY: 1, target: 'https://popup.example/', frame: [0, 1] },
  );
  assert.deepEqual(
    steps.map(({ type }) => type),
    ['set_viewport', 'navigate', 'click', 'click', 'fill', 'hover', 'scroll', 'wait', 'assert', 'wait', 'click'],
  );
  const [, , click, twice, , , , wait, count, , popup] = steps;
  assert.deepEqual(click?.type === 'click' && [click.selectors, click.position, click.tab], [selectors, { x: 3.5, y: 4 }, 'main']);
  assert.deepEqual(twice?.type === 'click' && [twice.count, twice.button, twice.delay_ms], [2, 'right', 50]);
  assert.deepEqual(wait?.type === 'wait' && [wait.state, wait.timeout_ms], ['visible', 5000]);
  assert.deepEqual(count?.type === 'assert' && count.count, { min: 3 });
  assert.deepEqual([popup?.tab, popup?.frame], ['newest', ['xpath/(//iframe | //frame)[1]', 'xpath/(//iframe | //frame)[2]']]);
});

test('the import of a recording converts keydowns and keyups to chords, also for clicks', () => {
  const keys = (...names: string[]) =>
    names.map((name) => ({ type: name.startsWith('-') ? 'keyUp' : 'keyDown', key: name.replace('-', '') }));
  const steps = imported(
    ...keys('Control', 'a', '-a', '-Control', 'Enter', '-Enter', 'Shift'),
    { type: 'click', selectors },
    ...keys('-Shift'),
    {
      type: 'click',
      selectors,
    },
  );
  assert.deepEqual(
    steps.map((step) => (step.type === 'press' ? step.keys : step.type === 'click' && step.modifiers)),
    ['Control+a', 'Enter', ['Shift'], []],
  );
});

test('the import of a recording presses characters with the modifiers with which our keyboard has them', () => {
  // What goes down, in order, and comes up in the opposite one.
  const chords: [recorded: string[], expected: string][] = [
    [['+'], '+'],
    [['A'], 'A'],
    [['Shift', '+'], 'Shift++'],
    [['Shift', '?'], 'Shift+?'],
    [['Shift', 'a'], 'Shift+a'],
    [['Shift', ' '], 'Shift+ '],
    [['Shift', 'Tab'], 'Shift+Tab'],
    // Keyboards of other countries.
    [['Shift', '/'], "Shift+'/'"],
    [['Shift', '='], "Shift+'='"],
    [['Shift', "'"], "Shift+'''"],
    [['Shift', 'Ä'], "Shift+'Ä'"],
    [['Shift', '7'], "Shift+'7'"],
    [['Shift', ';'], "Shift+';'"],
    [['Shift', '¿'], "Shift+'¿'"],
    [['Control', '+'], 'Control++'],
    [['Control', 'Shift', '/'], "Control+Shift+'/'"],
    [['AltGraph', '@'], '@'],
    [['Control', 'AltGraph', '€'], '€'],
    [['Control', 'Alt', '{'], '{'],
    [['Shift', 'AltGraph', 'þ'], "Shift+'þ'"],
    [['AltGraph', '}'], '}'],
    [['Control', 'Alt', 'Shift', '\\'], "Shift+'\\'"],
    // Option of a Mac.
    [['Alt', '@'], '@'],
    [['Alt', 'Shift', '\\'], "Shift+'\\'"],
    [['Alt', 'Shift', 'Ø'], "Shift+'Ø'"],
    // Shortcuts.
    [['Alt', 'a'], 'Alt+a'],
    [['Alt', '['], 'Alt+['],
    [['Alt', '+'], 'Alt++'],
    [['Meta', 'Alt', 'i'], 'Meta+Alt+i'],
    [['Control', 'Alt', 'Delete'], 'Control+Alt+Delete'],
    // Modifiers alone.
    [['Shift'], 'Shift'],
    [['Control', 'Shift'], 'Control+Shift'],
  ];
  for (const [recorded, expected] of chords) {
    const { steps, warnings } = importRecorder({
      steps: [
        ...recorded.map((key) => ({ type: 'keyDown', key })),
        ...recorded.toReversed().map((key) => ({ type: 'keyUp', key })),
        { type: 'click', selectors },
      ],
    });
    assert.deepEqual(
      steps.map((step) => (step.type === 'press' ? step.keys : step.type === 'click' && step.modifiers)),
      [expected, []],
      recorded.join(' '),
    );
    assert.deepEqual(warnings, [], recorded.join(' '));
  }
});

test('the import of a recording turns waits for counts, attributes and properties into checks of all matches', () => {
  const waits: [recorded: object, expected: object][] = [
    [{ count: 2, operator: '==' }, { count: 2 }],
    [{ count: 2, operator: '<=' }, { count: { max: 2 } }],
    [
      { count: 2, operator: '>=', visible: true },
      { count: { min: 2 }, visible: true },
    ],
    [{ count: 2, operator: '>=', visible: false }, { count: { max: 1 } }],
    [{ count: 2, operator: '<=', visible: false }, { count: { min: 3 } }],
    [{ properties: { value: '3' } }, { count: { min: 1 }, properties: { value: '3' } }],
    [
      { attributes: { type: 'checkbox' }, visible: true },
      { count: { min: 1 }, attributes: { type: 'checkbox' }, visible: true },
    ],
    [
      { count: 1, operator: '==', properties: { dataset: { state: 'on' } } },
      { count: 1, properties: { dataset: { state: 'on' } } },
    ],
  ];
  const steps = imported(...waits.map(([recorded]) => ({ type: 'waitForElement', selectors, ...recorded })));
  for (const [index, [recorded, expected]] of waits.entries()) {
    const { type, count, visible, attributes, properties } = steps[index] as unknown as Record<string, unknown>;
    const given = Object.fromEntries(Object.entries({ count, visible, attributes, properties }).filter(([, value]) => value !== undefined));
    assert.deepEqual([type, given], ['assert', expected], JSON.stringify(recorded));
  }
});

test('the import of a recording says of each step what it does not do', () => {
  const { steps, warnings } = importRecorder({
    steps: [
      { type: 'setViewport', width: 400, height: 800, deviceScaleFactor: 2, isMobile: true, hasTouch: true, isLandscape: false },
      { type: 'emulateNetworkConditions', download: 50_000, upload: 50_000, latency: 2000 },
      { type: 'click', selectors, offsetX: 1, offsetY: 1, deviceType: 'touch' },
      { type: 'close', target: 'https://popup.example/' },
    ],
  });
  assert.deepEqual(
    steps.map(({ type }) => type),
    ['set_viewport', 'click'],
  );
  assert.deepEqual(
    warnings.map((warning) => /^Step (\d) of the recording \((\w+)\): \w/.exec(warning)?.slice(1).join(' ')),
    ['0 setViewport', '1 emulateNetworkConditions', '2 click', '3 close'],
  );
  assert.deepEqual(importRecorder({ steps: [{ type: 'close' }] }).steps, []);
});

test('the import of a recording leaves out keys that no keyboard has, and says which', () => {
  const down = (...names: string[]) => names.map((key) => ({ type: 'keyDown', key }));
  const up = (...names: string[]) => names.map((key) => ({ type: 'keyUp', key }));
  const { steps, warnings } = importRecorder({
    steps: [
      ...[...down('Dead', 'ê', 'Unidentified', 'Process', 'AltGraph', '@'), ...up('AltGraph')],
      ...[...down('Alt'), ...down('ł', 'e'), ...up('Alt')],
      ...[...down('Control'), ...down('ä', 'a'), ...up('Control')],
      ...down('MediaPlayPause', '👍', '+'),
    ],
  });
  assert.deepEqual(
    steps.map((step) => step.type === 'press' && step.keys),
    ['ê', '@', 'ł', 'Alt+e', 'Control+ä', 'Control+a', '👍', '+'],
  );
  assert.deepEqual(
    warnings.map(
      (warning) => /^Step (\d+) of the recording \(keyDown\): no keyboard has "(.*)", so it is not pressed\.$/.exec(warning)?.[2],
    ),
    ['Dead', 'Unidentified', 'Process', 'MediaPlayPause'],
  );
});

test('the import of a recording uses its timeout for a step without one', () => {
  const {
    steps: [step],
  } = importRecorder({ title: 'r', timeout: 3000, steps: [{ type: 'hover', selectors }] });
  assert.equal(step?.timeout_ms, 3000);
});

test('the import of a recording reports each unsupported part with its path', () => {
  const at = 'body.recording.steps';
  assert.deepEqual(issuesOf('x'), ['body.recording dict_type']);
  assert.deepEqual(issuesOf({ title: 'r' }), [`${at} missing`]);
  assert.deepEqual(issuesOf({ steps: {} }), [`${at} list_type`]);
  const steps = [
    { type: 'keyDown', key: 'Shift' },
    { type: 'customStep', name: 'x', parameters: {} },
    7,
    { type: 'click', selectors: [['what/x']], button: 'back' },
    { type: 'click', selectors: [['what/x']] },
    { type: 'navigate', url: 'chrome://gpu' },
    { type: 'waitForElement', selectors, count: 2, operator: '!=' },
    { type: 'waitForElement', selectors, properties: { value: 'x' }, visible: false },
    { type: 'change', selectors, value: '{{x}}' },
    { type: 'hover', selectors, frame: ['a'], assertedEvents: [{ type: 'other' }] },
    { key: 1 },
  ];
  assert.deepEqual(issuesOf({ steps }), [
    `${at}.1.name cannot_import`,
    `${at}.2 dict_type`,
    `${at}.3.button cannot_import`,
    `${at}.4.selectors.0.0 selector`,
    `${at}.5.url url_scheme`,
    `${at}.6.operator cannot_import`,
    `${at}.7.visible cannot_import`,
    `${at}.8.value template`,
    `${at}.9.assertedEvents.0 cannot_import`,
    `${at}.9.frame cannot_import`,
    `${at}.10.type cannot_import`,
  ]);
  assert.deepEqual(issuesOf({ steps: Array.from({ length: 51 }, () => ({ type: 'hover', selectors })) }), [`${at} too_long`]);
});

test('a recording that is too long is refused before its steps are read, and at most a hundred issues are reported', () => {
  const click = { type: 'click', selectors };
  assert.deepEqual(issuesOf({ steps: Array.from({ length: 501 }, () => click) }), ['body.recording.steps too_long']);
  assert.equal(issuesOf({ steps: Array.from({ length: 500 }, () => ({ type: 'unknown' })) }).length, 100);
  assert.deepEqual(issuesOf({ steps: [{ ...click, assertedEvents: Array.from({ length: 1000 }, () => ({ type: 'navigation' })) }] }), [
    'body.recording.steps.0.assertedEvents too_long',
  ]);
});
