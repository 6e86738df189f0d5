import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../lib/clock.ts';
import { Breaker } from './breaker.ts';

test('two clones that fail in a row are a blip, three are not', () => {
  const breaker = new Breaker(new ManualClock());
  assert.deepEqual([breaker.cloneFailed(), breaker.cloneFailed()], [false, false]);
  assert.equal(breaker.isOpen, false);
  assert.equal(breaker.cloneFailed(), true);
  assert.equal(breaker.isOpen, true);
  assert.equal(breaker.failures, 3);
});

test('a clone that works makes the failures before it forgotten', () => {
  const breaker = new Breaker(new ManualClock());
  for (let round = 0; round < 5; round += 1) {
    breaker.cloneFailed();
    breaker.cloneFailed();
    breaker.cloneWorked();
  }
  assert.equal(breaker.isOpen, false);
  assert.equal(breaker.failures, 0);
});

test('a template that cannot be made is not tried with', () => {
  const breaker = new Breaker(new ManualClock());
  breaker.buildFailed();
  assert.equal(breaker.isOpen, true);
});

test('pauses double from half a minute to ten minutes, and start anew after a clone that works', () => {
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

test('a new template that is no better is thrown away by its first clone', () => {
  const breaker = new Breaker(new ManualClock());
  for (let failures = 0; failures < 3; failures += 1) breaker.cloneFailed();
  assert.equal(breaker.cloneFailed(), true);
  assert.equal(breaker.isOpen, true);
});
