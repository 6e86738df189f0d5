import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { SliceSize } from './turn-budget.ts';

/** A processor that does so many steps in a millisecond. */
function processor(t: TestContext, stepsPerMs: () => number) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  return (steps: number): number => {
    nowMs += steps / stepsPerMs();
    return steps / stepsPerMs();
  };
}

describe('the size of a slice', () => {
  it('the size of a slice follows the speed of the processor, so that each takes as long after the first', (t) => {
    for (const speed of [10, 100, 333, 1000, 3000]) {
      const work = processor(t, () => speed);
      const slice = new SliceSize({ first: 1000 });
      const tookMs = Array.from({ length: 8 }, () => slice.next(work)).slice(2);
      for (const ms of tookMs) assert.ok(ms > 0.9 && ms < (speed < 20 ? 1.7 : 1.1), `${ms} ms at ${speed}`);
      t.mock.restoreAll();
    }
  });

  it('the size of a slice shrinks at once where the processor is taken away, and grows again', (t) => {
    let speed = 1000;
    const work = processor(t, () => speed);
    const slice = new SliceSize({ first: 1000 });
    slice.next(work);
    speed = 100;
    assert.equal(slice.next(work), 10);
    assert.equal(slice.next(work), 1);
    speed = 1000;
    assert.ok(slice.next(work) < 1);
    assert.deepEqual(
      Array.from({ length: 5 }, () => Math.round(slice.next((steps) => work(steps) && steps))),
      [200, 400, 800, 1000, 1000],
    );
  });

  it('the size of a slice stays within its bounds', (t) => {
    const slow = processor(t, () => 0.001);
    const slice = new SliceSize({ first: 100, min: 10, max: 300 });
    const sizes = (work: (size: number) => unknown): number[] => Array.from({ length: 5 }, () => slice.next((size) => (work(size), size)));
    assert.equal(sizes(slow).at(-1), 10);
    assert.equal(sizes(() => undefined).length, 5);
    assert.equal(sizes(() => undefined).at(-1), 300);
  });
});
