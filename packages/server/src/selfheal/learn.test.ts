import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { strategyNames, type StrategyName } from '@berth/contract';
import { bestOf, firstRung, learned } from './learn.ts';
import { rungAfter, type Rung } from './site.ts';
import { attemptOf } from './testing.ts';

/** A rung that got through `ok` times and then was blocked `blocked` times. */
function rungOf(strategy: StrategyName, ok: number, blocked: number): Rung {
  let rung: Rung | undefined;
  for (let n = 0; n < ok + blocked; n += 1) rung = rungAfter(rung, attemptOf({ strategy, outcome: n < ok ? 'ok' : 'blocked' }));
  return rung ?? assert.fail();
}

/** The same numbers on every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('the rung that comes first', () => {
  it('is direct on a site of which little is known', () => {
    assert.equal(learned([], strategyNames), 'direct');
    assert.equal(learned([rungOf('direct', 0, 2), rungOf('other_egress', 2, 0)], strategyNames), 'direct');
  });

  it('is the one that works, where direct clearly does not', () => {
    assert.equal(
      learned([rungOf('direct', 0, 6), rungOf('other_egress', 6, 0), rungOf('wait_retry', 3, 3)], strategyNames),
      'other_egress',
    );
  });

  it('is direct while it may be as good as the other', () => {
    assert.equal(learned([rungOf('direct', 8, 2), rungOf('other_egress', 10, 0)], strategyNames), 'direct');
  });

  it('is not one that is not allowed, and never a person', () => {
    const rungs = [rungOf('direct', 0, 20), rungOf('other_egress', 20, 0), rungOf('human', 50, 0)];
    assert.equal(learned(rungs, ['direct', 'human', 'fresh_context']), 'direct');
  });

  it('forgets what was before the last 50 attempts', () => {
    assert.equal(learned([rungOf('direct', 200, 50), rungOf('other_egress', 10, 0)], strategyNames), 'other_egress');
  });

  it('is direct again once in twenty times', () => {
    const random = seeded(1);
    const rungs = [rungOf('direct', 0, 50), rungOf('other_egress', 50, 0)];
    const firsts = Array.from({ length: 2000 }, () => firstRung(rungs, strategyNames, random));
    const direct = firsts.filter((name) => name === 'direct').length;
    assert.ok(direct > 60 && direct < 140, `${direct} of 2000`);
    assert.equal(firsts.filter((name) => name === 'other_egress').length, 2000 - direct);
  });
});

describe('the best rung', () => {
  it('is the one whose success is surest, and none where none was tried', () => {
    assert.equal(bestOf([rungOf('direct', 40, 10), rungOf('wait_retry', 1, 0)]), 'direct');
    assert.equal(bestOf([]), null);
  });
});
