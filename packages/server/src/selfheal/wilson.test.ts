import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { wilson } from './learn.ts';

const seen = fc.integer({ min: 1, max: 1000 }).chain((attempts) => fc.tuple(fc.integer({ min: 0, max: attempts }), fc.constant(attempts)));

describe('wilson', () => {
  it('gives the values of the textbook', () => {
    const rounded = (successes: number, attempts: number) =>
      Object.values(wilson(successes, attempts)).map((bound: number) => Number(bound.toFixed(4)));
    assert.deepEqual(rounded(8, 10), [0.4902, 0.9433]);
    assert.deepEqual(rounded(5, 5), [0.5655, 1]);
    assert.deepEqual(rounded(0, 5), [0, 0.4345]);
    assert.deepEqual(rounded(0, 0), [0, 1]);
  });

  it('holds the rate that was seen, between 0 and 1', () => {
    fc.assert(
      fc.property(seen, ([successes, attempts]) => {
        const { lower, upper } = wilson(successes, attempts);
        const rate = successes / attempts;
        assert.ok(0 <= lower && lower <= rate + 1e-9 && rate - 1e-9 <= upper && upper <= 1);
      }),
    );
  });

  it('rises with every success, and with more of the same it is surer', () => {
    fc.assert(
      fc.property(seen, ([successes, attempts]) => {
        assert.ok(successes === attempts || wilson(successes + 1, attempts).lower > wilson(successes, attempts).lower);
        const [once, twice] = [wilson(successes, attempts), wilson(2 * successes, 2 * attempts)];
        assert.ok(twice.upper - twice.lower < once.upper - once.lower);
      }),
    );
  });
});
