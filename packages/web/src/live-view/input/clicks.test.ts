import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClickCount } from './clicks.ts';

const press = (atMs: number, { x = 10, y = 10, button = 'left' } = {}) => ({ atMs, x, y, button });

test('clicks are counted when presses follow each other in one place', () => {
  const clicks = new ClickCount();
  assert.deepEqual(
    [0, 200, 450].map((atMs) => clicks.press(press(atMs))),
    [1, 2, 3],
  );
  assert.equal(clicks.count, 3);
});

test('the click count begins again after a while, elsewhere, and with another button', () => {
  const clicks = new ClickCount();
  clicks.press(press(0));
  assert.equal(clicks.press(press(501)), 1);
  assert.equal(clicks.press(press(600, { x: 30 })), 1);
  assert.equal(clicks.press(press(700, { x: 30, button: 'right' })), 1);
});
