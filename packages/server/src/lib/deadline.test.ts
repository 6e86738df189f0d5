import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from './clock.ts';
import { Deadline } from './deadline.ts';

const { signal } = new AbortController();

it('counts what is spent and what is left, in whole milliseconds, from its creation', () => {
  const clock = new ManualClock();
  clock.advance(5000);
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [0, 1000]);
  clock.advance(400.4);
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [400, 600]);
});

it('has nothing left once its time is over, and never less', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  clock.advance(1000);
  assert.equal(deadline.leftMs, 0);
  clock.advance(60_000);
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [61_000, 0]);
});

it('gives a part of the call no more than what is left', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  clock.advance(600);
  assert.deepEqual([deadline.within(300).leftMs, deadline.within(5000).leftMs], [300, 400]);
});
