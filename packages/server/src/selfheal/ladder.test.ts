import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { blockTypes, navigationFailures, strategyNames, type BlockType, type StrategyName } from '@berth/contract';
import { Ladder, type Failure } from './ladder.ts';
import { blockOf } from './testing.ts';

const half = () => 0.5;
const blocked = (strategy: StrategyName, type: BlockType, retryAfterSeconds: number | null = null): Failure => ({
  strategy,
  outcome: 'blocked',
  block: { ...blockOf(type), retry_after_seconds: retryAfterSeconds },
  statusCode: 403,
});
const failed = (strategy: StrategyName, reason: string): Failure => ({ strategy, outcome: 'error', block: null, statusCode: null, reason });

/** The rungs in the order in which they are tried when each of them fails in the same way; waiting is told once. */
function climbed(failure: (strategy: StrategyName) => Failure, enabled: readonly StrategyName[] = strategyNames): StrategyName[] {
  const ladder = new Ladder(enabled, half);
  const rungs: StrategyName[] = [];
  for (let rest = ladder.first('direct'), leftMs = 30_000; rest;) {
    if (!rungs.includes(rest.strategy)) rungs.push(rest.strategy);
    leftMs -= rest.waitMs;
    const next = ladder.next(failure(rest.strategy), leftMs);
    if (!next) break;
    rest = next;
  }
  return rungs.slice(1);
}

describe('the ladder', () => {
  it('is climbed from the gentlest rung to a person', () => {
    assert.deepEqual(
      climbed((strategy) => blocked(strategy, 'challenge')),
      strategyNames.slice(1),
    );
  });

  it('waits and slows down first where the site says that it is too fast', () => {
    assert.deepEqual(
      climbed((strategy) => blocked(strategy, 'rate_limited')),
      ['wait_retry', 'slower_pacing', 'other_egress', 'fresh_context'],
    );
  });

  it('comes from elsewhere first where the address or the proxy is what fails', () => {
    for (const failure of [
      (strategy: StrategyName) => blocked(strategy, 'access_denied'),
      (strategy: StrategyName) => blocked(strategy, 'bot_wall'),
      (strategy: StrategyName) => failed(strategy, 'proxy_error'),
      (strategy: StrategyName) => ({ ...failed(strategy, ''), statusCode: 407 }),
    ])
      assert.deepEqual(climbed(failure).slice(0, 2), ['other_egress', 'fresh_context']);
  });

  it('waits first where a server is broken or slow', () => {
    assert.equal(climbed((strategy) => failed(strategy, 'timeout'))[0], 'wait_retry');
    assert.equal(climbed((strategy) => ({ strategy, outcome: 'error', block: null, statusCode: 503 }))[0], 'wait_retry');
  });

  it('does not look for a way around what rules forbid', () => {
    for (const failure of [
      (strategy: StrategyName) => blocked(strategy, 'robots_disallowed'),
      (strategy: StrategyName) => blocked(strategy, 'cooldown'),
      (strategy: StrategyName) => failed(strategy, 'blocked_by_policy'),
    ])
      assert.deepEqual(climbed(failure), []);
  });

  it('has nothing to try after a success', () => {
    assert.equal(new Ladder(strategyNames, half).next({ strategy: 'direct', outcome: 'ok', block: null, statusCode: 200 }, 30_000), null);
  });

  it('waits twice as long each time, and as long as the site asked where that is longer', () => {
    const ladder = new Ladder(['wait_retry'], half);
    const waits = [null, null, null, 30].map(
      (retryAfter) => ladder.next(blocked('wait_retry', 'rate_limited', retryAfter), 60_000)?.waitMs,
    );
    assert.deepEqual(waits, [500, 1000, 2000, 30_000]);
  });

  it('goes past a wait that the site asked for and nobody has the time for', () => {
    const ladder = new Ladder(strategyNames, half);
    assert.deepEqual(ladder.next(blocked('direct', 'rate_limited', 120), 10_000), { strategy: 'other_egress', waitMs: 0 });
    assert.equal(new Ladder(['wait_retry', 'slower_pacing'], half).next(blocked('direct', 'rate_limited', 120), 10_000), null);
  });

  it('asks no person who would not have the time', () => {
    const ladder = new Ladder(['human'], half);
    assert.equal(ladder.next(blocked('direct', 'captcha'), 5000), null);
    assert.equal(ladder.next(blocked('direct', 'captcha'), 15_000)?.strategy, 'human');
  });

  const anyFailure = fc.record({
    outcome: fc.constantFrom('blocked' as const, 'error' as const),
    type: fc.constantFrom(...blockTypes),
    retryAfter: fc.option(fc.integer({ min: 0, max: 600 })),
    statusCode: fc.option(fc.constantFrom(200, 401, 403, 407, 429, 500, 503)),
    reason: fc.constantFrom(...navigationFailures, 'something new'),
  });

  it('never takes a rung that is not allowed, or twice, or past the time that is left, and always ends', () => {
    fc.assert(
      fc.property(
        fc.subarray([...strategyNames]),
        fc.array(anyFailure, { minLength: 1 }),
        fc.integer({ min: 0, max: 180_000 }),
        fc.array(fc.double({ min: 0, max: 0.999 }), { minLength: 1 }),
        (enabled, failures, budgetMs, numbers) => {
          let drawn = 0;
          const ladder = new Ladder(enabled, () => numbers[drawn++ % numbers.length] ?? 0);
          const tried: StrategyName[] = ['direct'];
          // The time never runs down here: the ladder must end by itself.
          for (let turn = 0; ; turn += 1) {
            assert.ok(turn < 30, 'the ladder does not end');
            const { outcome, type, retryAfter, statusCode, reason } = failures[turn % failures.length] ?? assert.fail();
            const block = outcome === 'blocked' ? { ...blockOf(type), retry_after_seconds: retryAfter } : null;
            const rest = ladder.next({ strategy: tried.at(-1) ?? 'direct', outcome, block, statusCode, reason }, budgetMs);
            if (!rest) break;
            assert.ok(enabled.includes(rest.strategy));
            assert.ok(rest.strategy === 'wait_retry' || !tried.includes(rest.strategy));
            assert.ok(Number.isInteger(rest.waitMs) && rest.waitMs >= 0 && rest.waitMs < budgetMs);
            if (block && (rest.strategy === 'wait_retry' || rest.strategy === 'slower_pacing'))
              assert.ok(rest.waitMs >= (retryAfter ?? 0) * 1000);
            tried.push(rest.strategy);
          }
        },
      ),
    );
  });
});
