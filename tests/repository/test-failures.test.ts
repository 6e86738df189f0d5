import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFailures } from '../../scripts/test/test-failures.ts';

const report = (title: string, message: string): string =>
  `\ntest at tests/api/a.test.ts:1:1\n✖ ${title} (1.5ms)\n  AssertionError [ERR_ASSERTION]: ${message}\n      at a.test.ts:2:2\n`;
const output = (...reports: string[]): string => `▶ tests/api/a.test.ts\nℹ fail 2\n\n✖ failing tests:\n${reports.join('')}`;

describe('the report of failed tests', () => {
  it('the report of failed tests names all of them first, and cuts what one of them quotes', () => {
    const long = 'x'.repeat(100_000);
    const shown = describeFailures([
      { code: 1, output: output(report('quotes a document', long), report('quotes many lines', 'line\n'.repeat(5000))) },
      { code: 0, output: output(report('has passed', '')) },
      { code: 1, output: output(report('of another batch', 'short')) },
    ]);
    const lines = shown.split('\n');
    assert.deepEqual(
      [lines[0], lines[1], lines[3], lines[5], lines[6]],
      [
        '3 failing:',
        '  tests/api/a.test.ts:1:1 quotes a document (1.5ms)',
        '  tests/api/a.test.ts:1:1 quotes many lines (1.5ms)',
        '  tests/api/a.test.ts:1:1 of another batch (1.5ms)',
        '      AssertionError [ERR_ASSERTION]: short',
      ],
    );
    assert.ok(shown.length < 4000, `${shown.length} characters`);
    assert.match(shown, /\(100\d+ characters\)/);
    assert.match(shown, /AssertionError \[ERR_ASSERTION\]: short/);
  });

  it('the report of failed tests names what failed by itself, and counts what was cancelled with it', () => {
    const cancelled = `\ntest at tests/api/a.test.ts:2:1\n✖ never ran\n  'test did not finish before its parent and was cancelled'\n`;
    const suite = `\ntest at tests/api/a.test.ts:3:1\n✖ a suite (2ms)\n  '2 subtests failed'\n`;
    const shown = describeFailures([{ code: 1, output: output(cancelled, report('opens', 'no database'), suite) }]);
    assert.match(shown, /^1 failing, and 2 with them:\n.*opens \(1\.5ms\)\n +AssertionError \[ERR_ASSERTION\]: no database\n/);
    assert.doesNotMatch(shown, /never ran|a suite/);
  });

  it('the report of failed tests is bounded however many fail', () => {
    const many = Array.from({ length: 500 }, (_, n) => report(`fails, number ${n}`, 'y'.repeat(1000)));
    const shown = describeFailures([{ code: 1, output: output(...many) }]);
    assert.match(shown, /fails, number 499/);
    assert.ok(shown.length < 60_000, `${shown.length} characters`);
  });

  it('the report of failed tests shows the end of an output without a report', () => {
    const shown = describeFailures([{ code: null, output: `${'noise\n'.repeat(1000)}the last words` }]);
    assert.match(shown, /the last words\n\(ended without a report\)$/);
    assert.ok(shown.length < 1000);
  });
});
