import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { strategyNames, type StrategyName } from '@berth/contract';
import { bestOf, chooseFirstStrategy, learnedStrategy, wilson } from './learn.ts';
import { updateStrategyStats, type StrategyStats } from './site.ts';
import { attemptOf } from '../../../testing/selfheal.ts';
import fc from 'fast-check';
import { seeded } from '@berth/lib/testing/seeded.ts';

/** A strategy that succeeded `ok` times and then was blocked `blocked` times. */
function statsOf(strategy: StrategyName, ok: number, blocked: number): StrategyStats {
  let stats: StrategyStats | undefined;
  for (let n = 0; n < ok + blocked; n += 1) stats = updateStrategyStats(stats, attemptOf({ strategy, outcome: n < ok ? 'ok' : 'blocked' }));
  return stats ?? assert.fail();
}

describe('the first strategy', () => {
  it('the first strategy is direct on a site of which little is known', () => {
    assert.equal(learnedStrategy([], strategyNames), 'direct');
    assert.equal(learnedStrategy([statsOf('direct', 0, 2), statsOf('rotate_egress', 2, 0)], strategyNames), 'direct');
  });

  it('the first strategy is the one that works, where direct clearly does not', () => {
    assert.equal(
      learnedStrategy([statsOf('direct', 0, 6), statsOf('rotate_egress', 6, 0), statsOf('wait_retry', 3, 3)], strategyNames),
      'rotate_egress',
    );
  });

  it('the first strategy is direct while it may be as good as the other', () => {
    assert.equal(learnedStrategy([statsOf('direct', 8, 2), statsOf('rotate_egress', 10, 0)], strategyNames), 'direct');
  });

  it('the first strategy is not one that is not allowed, and never a person', () => {
    const strategyStats = [statsOf('direct', 0, 20), statsOf('rotate_egress', 20, 0), statsOf('human', 50, 0)];
    assert.equal(learnedStrategy(strategyStats, ['direct', 'human', 'fresh_context']), 'direct');
  });

  it('the first strategy forgets what was before the last 50 attempts', () => {
    assert.equal(learnedStrategy([statsOf('direct', 200, 50), statsOf('rotate_egress', 10, 0)], strategyNames), 'rotate_egress');
  });

  it('the first strategy is direct again once in twenty times', () => {
    const random = seeded(1);
    const strategyStats = [statsOf('direct', 0, 50), statsOf('rotate_egress', 50, 0)];
    const firsts = Array.from({ length: 2000 }, () => chooseFirstStrategy(strategyStats, strategyNames, random));
    const direct = firsts.filter((name) => name === 'direct').length;
    assert.ok(direct > 60 && direct < 140, `${direct} of 2000`);
    assert.equal(firsts.filter((name) => name === 'rotate_egress').length, 2000 - direct);
  });
});

describe('the best strategy', () => {
  it('the best strategy is the one whose success is surest, and none where none was tried', () => {
    assert.equal(bestOf([statsOf('direct', 40, 10), statsOf('wait_retry', 1, 0)]), 'direct');
    assert.equal(bestOf([]), null);
  });
});

const seen = fc.integer({ min: 1, max: 1000 }).chain((attempts) => fc.tuple(fc.integer({ min: 0, max: attempts }), fc.constant(attempts)));

describe('wilson', () => {
  it('wilson gives the values of the textbook', () => {
    const rounded = (successes: number, attempts: number) =>
      Object.values(wilson(successes, attempts)).map((bound: number) => Number(bound.toFixed(4)));
    assert.deepEqual(rounded(8, 10), [0.4902, 0.9433]);
    assert.deepEqual(rounded(5, 5), [0.5655, 1]);
    assert.deepEqual(rounded(0, 5), [0, 0.4345]);
    assert.deepEqual(rounded(0, 0), [0, 1]);
  });

  it('wilson holds the observed rate, between 0 and 1', () => {
    fc.assert(
      fc.property(seen, ([successes, attempts]) => {
        const { lower, upper } = wilson(successes, attempts);
        const rate = successes / attempts;
        assert.ok(0 <= lower && lower <= rate + 1e-9 && rate - 1e-9 <= upper && upper <= 1);
      }),
    );
  });

  it('wilson rises with every success, and with more of the same', () => {
    fc.assert(
      fc.property(seen, ([successes, attempts]) => {
        assert.ok(successes === attempts || wilson(successes + 1, attempts).lower > wilson(successes, attempts).lower);
        const [once, twice] = [wilson(successes, attempts), wilson(2 * successes, 2 * attempts)];
        assert.ok(twice.upper - twice.lower < once.upper - once.lower);
      }),
    );
  });
});
