import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Steps } from '@berth/contract';
import { importRecorder } from '@berth/devtools';
import { templates } from '../registry.ts';
import { exportPlaywright } from './playwright.ts';
import { exportRecording } from './recording.ts';

const steps = [
  { type: 'set_viewport', width: 800, height: 600 },
  { type: 'navigate', url: '{{inputs.url}}' },
  { type: 'click', selectors: ['#buy', 'text/Buy'], count: 2 },
  { type: 'fill', selectors: ['label/Name'], value: 'Ada `$' + '{x}` {{inputs.last}}' },
  { type: 'press', keys: 'Control+A' },
  { type: 'press', keys: 'Control++' },
  { type: 'press', keys: "Shift+'/'" },
  { type: 'wait', selectors: ['h1'], state: 'visible' },
  { type: 'extract', selectors: ['h1'], save_as: 'heading' },
  { type: 'screenshot', optional: true },
];

test('a recording that was exported is imported as the same steps', () => {
  const { steps: again } = importRecorder(exportRecording('Steps', steps));
  const without = (list: readonly object[]): unknown => JSON.parse(JSON.stringify(list));
  assert.deepEqual(without(again), without(Steps.parse(steps)));
});

test('steps without templates of their own names become a Playwright test', () => {
  const code = exportPlaywright('A "title"', steps) ?? '';
  for (const line of [
    "import { expect, test } from '@playwright/test';",
    'test("A \\"title\\"", async ({ page }) => {',
    '  await page.goto(inputs.url);',
    '  await page.locator("#buy").or(page.getByText("Buy")).first().dblclick();',
    '  await page.getByLabel("Name").first().fill(`Ada \\`\\${x}\\` ${inputs.last}`);',
    '  await page.keyboard.press("Control++");',
    '  await page.keyboard.press("/");',
    '  vars.heading = await page.locator("h1").first().innerText();',
  ])
    assert.ok(code.includes(line), `${line}\n${code}`);
});

test('steps without a counterpart export no Playwright test, and no steps export no recording', () => {
  assert.equal(exportPlaywright('Loop', [{ type: 'repeat', steps: [{ type: 'reload' }] }]), null);
  assert.equal(exportPlaywright('Nothing', []), null);
  assert.equal(exportRecording('Nothing', []), null);
});

test('every template without calls has a recording', () => {
  for (const { title, steps: list, name } of templates)
    assert.equal(
      exportRecording(title, list ?? []) === null,
      list?.some(({ type }) => type === 'call'),
      name,
    );
});
