import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackOff } from './back-off.ts';

test('the back-off waits twice as long each time, up to ten seconds', () => {
  const backOff = new BackOff(() => 0.5);
  assert.deepEqual(
    Array.from({ length: 7 }, () => backOff.next()),
    [500, 1000, 2000, 4000, 8000, 10_000, 10_000],
  );
});

test('the back-off stays within its bounds whatever the random number is', () => {
  for (const dice of [0, 0.999]) {
    const backOff = new BackOff(() => dice);
    for (let attempt = 0; attempt < 2000; attempt += 1) {
      const ms = backOff.next();
      assert.ok(ms >= 375 && ms <= 10_000, String(ms));
    }
  }
});

test('the back-off begins anew after a reset', () => {
  const backOff = new BackOff(() => 0.5);
  backOff.next();
  backOff.next();
  backOff.reset();
  assert.equal(backOff.next(), 500);
});
