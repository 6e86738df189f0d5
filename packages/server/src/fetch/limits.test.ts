import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../lib/clock.ts';
import { Budget } from './limits.ts';

it('counts what is spent and what is left, in whole milliseconds, from its creation', () => {
  const clock = new ManualClock();
  clock.advance(5000);
  const budget = new Budget(clock, 1000);
  assert.deepEqual([budget.spentMs(), budget.leftMs()], [0, 1000]);
  clock.advance(400.4);
  assert.deepEqual([budget.spentMs(), budget.leftMs()], [400, 600]);
});

it('has nothing left once its time is over, and never less', () => {
  const clock = new ManualClock();
  const budget = new Budget(clock, 1000);
  clock.advance(1000);
  assert.equal(budget.leftMs(), 0);
  clock.advance(60_000);
  assert.deepEqual([budget.spentMs(), budget.leftMs()], [61_000, 0]);
});
