import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffTexts, type DiffRow } from './text-diff.ts';

const toText = (row: DiffRow): string =>
  row.kind === 'gap' ? `… ${row.lines}` : `${{ same: ' ', added: '+', removed: '-' }[row.kind]}${row.line} ${row.text}`;
const numbers = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}\n`).join('');

test('a text diff shows differences with three equal lines around them, and folds the others', () => {
  const before = `${numbers(1, 10)}old\n${numbers(11, 20)}`;
  const after = `${numbers(1, 10)}new\nmore\n${numbers(11, 20)}`;
  const diff = diffTexts(before, after);
  assert.deepEqual(diff?.rows.map(toText), [
    '… 7',
    ' 8 line 8',
    ' 9 line 9',
    ' 10 line 10',
    '-11 old',
    '+11 new',
    '+12 more',
    ' 13 line 11',
    ' 14 line 12',
    ' 15 line 13',
    '… 7',
  ]);
  assert.deepEqual([diff?.added, diff?.removed, diff?.omitted], [2, 1, 0]);
});

test('equal texts have no difference, also where one lacks the last line end', () => {
  assert.deepEqual(diffTexts('a\nb', 'a\nb\n'), { rows: [{ kind: 'gap', lines: 2 }], added: 0, removed: 0, omitted: 0 });
});

test('one line between two differences is shown, not folded', () => {
  assert.deepEqual(diffTexts('a\nsame\nb\n', 'c\nsame\nd\n')?.rows.map(toText), ['-1 a', '+1 c', ' 2 same', '-3 b', '+3 d']);
});

test('a text diff compares an empty text with another one', () => {
  assert.deepEqual(diffTexts('', 'a\nb')?.rows.map(toText), ['+1 a', '+2 b']);
});

test('a text diff limits rows and the length of lines', () => {
  const diff = diffTexts('', `${'x'.repeat(5000)}\n${numbers(1, 3000)}`);
  assert.equal(diff?.rows.length, 2000);
  assert.equal(diff?.omitted, 1001);
  assert.equal(diff?.added, 3001);
  const [first] = diff?.rows ?? [];
  assert.equal(first && 'text' in first && first.text.length, 2001);
});
