import assert from 'node:assert/strict';
import { test } from 'node:test';
import { optionAfter } from './option-keys.ts';

const options = ['Austria', 'Belgium', 'Brazil', 'Chile'].map((label, index) => ({
  index,
  label,
  group: null,
  selected: false,
  disabled: label === 'Belgium',
}));
const after = (from: number, key: string, typed = ''): number => optionAfter(options, from, { key, typed });

test('arrows, Home, End and pages move between options that can be chosen', () => {
  assert.deepEqual([after(0, 'ArrowDown'), after(2, 'ArrowUp'), after(0, 'ArrowUp'), after(3, 'ArrowDown')], [2, 0, 0, 3]);
  assert.deepEqual([after(2, 'Home'), after(0, 'End'), after(0, 'PageDown'), after(3, 'PageUp')], [0, 3, 3, 0]);
});

test('letters go to the option that starts with them, and a repeated letter to the next one', () => {
  assert.deepEqual([after(0, 'c', 'c'), after(0, 'r', 'br'), after(2, 'b', 'b'), after(0, 'x', 'x')], [3, 2, 2, 0]);
});

test('keys that choose no option, and an empty list, change nothing', () => {
  assert.equal(after(2, 'Shift'), 2);
  assert.equal(optionAfter([], 0, { key: 'ArrowDown', typed: '' }), 0);
});
