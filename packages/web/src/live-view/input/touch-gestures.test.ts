import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TouchGestures } from './touch-gestures.ts';

test('a short touch is a tap, also one that trembles', () => {
  const touch = new TouchGestures();
  touch.down({ x: 100, y: 100 });
  assert.equal(touch.move({ x: 104, y: 97 }), undefined);
  assert.deepEqual(touch.up(), { kind: 'tap', at: { x: 100, y: 100 } });
  assert.equal(touch.up(), undefined);
});

test('a moving touch scrolls against the finger, and no tap follows', () => {
  const touch = new TouchGestures();
  touch.down({ x: 100, y: 100 });
  assert.deepEqual(touch.move({ x: 100, y: 60 }), { kind: 'scroll', at: { x: 100, y: 100 }, dx: 0, dy: 40 });
  assert.deepEqual(touch.move({ x: 103, y: 58 }), { kind: 'scroll', at: { x: 100, y: 100 }, dx: -3, dy: 2 });
  assert.equal(touch.longPress(), undefined);
  assert.equal(touch.up(), undefined);
});

test('a resting finger is a long press, and no tap follows', () => {
  const touch = new TouchGestures();
  touch.down({ x: 5, y: 6 });
  assert.deepEqual(touch.longPress(), { kind: 'long-press', at: { x: 5, y: 6 } });
  assert.equal(touch.move({ x: 50, y: 60 }), undefined);
  assert.equal(touch.up(), undefined);
});

test('a touch that a second finger interrupts is forgotten', () => {
  const touch = new TouchGestures();
  touch.down({ x: 5, y: 6 });
  touch.cancel();
  assert.equal(touch.longPress(), undefined);
  assert.equal(touch.move({ x: 50, y: 60 }), undefined);
  assert.equal(touch.up(), undefined);
});
