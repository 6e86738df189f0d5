import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { Breaker } from './breaker.ts';

test('three failed clones in a row open the circuit breaker, two do not', () => {
  const breaker = new Breaker(new ManualClock());
  assert.deepEqual([breaker.cloneFailed(), breaker.cloneFailed()], [false, false]);
  assert.equal(breaker.isOpen, false);
  assert.equal(breaker.cloneFailed(), true);
  assert.equal(breaker.isOpen, true);
  assert.equal(breaker.failures, 3);
});

test('a successful clone resets the failures of the circuit breaker', () => {
  const breaker = new Breaker(new ManualClock());
  for (let round = 0; round < 5; round += 1) {
    breaker.cloneFailed();
    breaker.cloneFailed();
    breaker.cloneWorked();
  }
  assert.equal(breaker.isOpen, false);
  assert.equal(breaker.failures, 0);
});

test('a failed template build opens the circuit breaker', () => {
  const breaker = new Breaker(new ManualClock());
  breaker.buildFailed();
  assert.equal(breaker.isOpen, true);
});

test('pauses of the circuit breaker double from half a minute to ten minutes, and are reset by a successful clone', () => {
  const clock = new ManualClock();
  const breaker = new Breaker(clock);
  const pauses = Array.from({ length: 7 }, () => {
    breaker.buildFailed();
    const pause = breaker.pauseMs ?? 0;
    clock.advance(pause);
    assert.equal(breaker.pauseMs, 0);
    return pause / 1000;
  });
  assert.deepEqual(pauses, [30, 60, 120, 240, 480, 600, 600]);
  breaker.cloneWorked();
  assert.equal(breaker.pauseMs, null);
  breaker.buildFailed();
  assert.equal(breaker.pauseMs, 30_000);
});

test('the circuit breaker discards a new template when its first clone fails', () => {
  const breaker = new Breaker(new ManualClock());
  for (let failures = 0; failures < 3; failures += 1) breaker.cloneFailed();
  assert.equal(breaker.cloneFailed(), true);
  assert.equal(breaker.isOpen, true);
});
