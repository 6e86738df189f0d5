import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextRate, shortcutOf } from './shortcuts.ts';

const press = (key: string, modifiers: { ctrlKey?: boolean; altKey?: boolean; metaKey?: boolean } = {}) => ({
  key,
  ctrlKey: false,
  altKey: false,
  metaKey: false,
  ...modifiers,
});
const on = { withCharacters: true };

test('the player knows the keys of players', () => {
  assert.deepEqual(shortcutOf(press(' '), on), { action: 'toggle' });
  assert.deepEqual(shortcutOf(press('K'), on), { action: 'toggle' });
  assert.deepEqual(shortcutOf(press('ArrowLeft'), on), { action: 'skip', byMs: -5000 });
  assert.deepEqual(shortcutOf(press('l'), on), { action: 'skip', byMs: 10_000 });
  assert.deepEqual(shortcutOf(press('>'), on), { action: 'faster' });
  assert.equal(shortcutOf(press('x'), on), undefined);
  assert.equal(shortcutOf(press('constructor'), on), undefined);
});

test('the player leaves shortcuts of the browser alone', () => {
  for (const modifiers of [{ ctrlKey: true }, { altKey: true }, { metaKey: true }])
    assert.equal(shortcutOf(press('f', modifiers), on), undefined);
});

test('the player leaves characters alone when they are switched off', () => {
  for (const key of ['k', 'j', 'l', 'f', '<', '>']) assert.equal(shortcutOf(press(key), { withCharacters: false }), undefined, key);
  assert.deepEqual(shortcutOf(press(' '), { withCharacters: false }), { action: 'toggle' });
});

test('the speed of the player goes from half to sixteen times and no further', () => {
  assert.equal(nextRate(1, 1), 1.5);
  assert.equal(nextRate(1, -1), 0.5);
  assert.equal(nextRate(0.5, -1), 0.5);
  assert.equal(nextRate(16, 1), 16);
});
