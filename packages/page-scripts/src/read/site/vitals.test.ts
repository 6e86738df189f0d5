import assert from 'node:assert/strict';
import { it } from 'node:test';
import { blockingTime, largestShift } from './vitals.ts';

const shift = (startTime: number, value: number, hadRecentInput = false) => ({ startTime, value, hadRecentInput });

it('layout shifts are summed by session windows, and those after input are not counted', () => {
  assert.equal(largestShift([]), 0);
  assert.equal(largestShift([shift(100, 0.1), shift(600, 0.2), shift(2000, 0.25)]), 0.3);
  assert.equal(largestShift([shift(100, 0.1), shift(200, 0.7, true), shift(1500, 0.15)]), 0.15);
  // A window ends after five seconds, also without a gap.
  assert.equal(largestShift(Array.from({ length: 10 }, (_, n) => shift(n * 900, 0.1))), 0.6);
});

it('tasks block only after the first paint, and only beyond 50 ms', () => {
  const tasks = [
    { startTime: 0, duration: 300 },
    { startTime: 900, duration: 200 },
    { startTime: 2000, duration: 60 },
  ];
  assert.equal(blockingTime(tasks, 1000), 60);
  assert.equal(blockingTime(tasks, 0), 410);
  assert.equal(blockingTime(tasks, null), 0);
});
