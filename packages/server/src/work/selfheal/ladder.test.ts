import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { blockTypes, navigationFailures, strategyNames, type BlockType, type StrategyName } from '@berth/contract';
import { Ladder, type Failure } from './ladder.ts';
import { blockOf } from '../../../testing/selfheal.ts';

const half = () => 0.5;
const blocked = (strategy: StrategyName, type: BlockType, retryAfterSeconds: number | null = null): Failure => ({
  strategy,
  outcome: 'blocked',
  block: { ...blockOf(type), retry_after_seconds: retryAfterSeconds },
  statusCode: 403,
});
const failed = (strategy: StrategyName, reason: string): Failure => ({ strategy, outcome: 'error', block: null, statusCode: null, reason });

/** The strategies in order when each fails in the same way; `wait_retry` is listed once. */
function attemptedStrategies(
  failure: (strategy: StrategyName) => Failure,
  enabled: readonly StrategyName[] = strategyNames,
): StrategyName[] {
  const ladder = new Ladder(enabled, half);
  const strategyStats: StrategyName[] = [];
  for (let planned = ladder.first('direct'), leftMs = 30_000; planned;) {
    if (!strategyStats.includes(planned.strategy)) strategyStats.push(planned.strategy);
    leftMs -= planned.waitMs;
    const next = ladder.next(failure(planned.strategy), leftMs);
    if (!next) break;
    planned = next;
  }
  return strategyStats.slice(1);
}

describe('the ladder', () => {
  it('the strategy ladder goes from the gentlest strategy to a person', () => {
    assert.deepEqual(
      attemptedStrategies((strategy) => blocked(strategy, 'challenge')),
      strategyNames.slice(1),
    );
  });

  it('the strategy ladder waits and slows down first where the site says that it is too fast', () => {
    assert.deepEqual(
      attemptedStrategies((strategy) => blocked(strategy, 'rate_limited')),
      ['wait_retry', 'throttle', 'rotate_egress', 'fresh_context'],
    );
  });

  it('the strategy ladder rotates the egress first where the address or the proxy fails', () => {
    for (const failure of [
      (strategy: StrategyName) => blocked(strategy, 'access_denied'),
      (strategy: StrategyName) => blocked(strategy, 'bot_wall'),
      (strategy: StrategyName) => failed(strategy, 'proxy_error'),
      (strategy: StrategyName) => ({ ...failed(strategy, ''), statusCode: 407 }),
    ])
      assert.deepEqual(attemptedStrategies(failure).slice(0, 2), ['rotate_egress', 'fresh_context']);
  });

  it('the strategy ladder tries a browser with windows where a site checks the browser, not where it checks the rate', () => {
    for (const type of ['access_denied', 'bot_wall', 'challenge', 'empty_shell'] as const)
      assert.ok(attemptedStrategies((strategy) => blocked(strategy, type)).includes('full_browser'), type);
    for (const type of ['rate_limited', 'geo_blocked', 'login_wall'] as const)
      assert.ok(!attemptedStrategies((strategy) => blocked(strategy, type)).includes('full_browser'), type);
    assert.equal(new Ladder(['full_browser'], half).next(blocked('direct', 'bot_wall'), 2000), null);
  });

  it('the strategy ladder waits first where a server is broken or slow', () => {
    assert.equal(attemptedStrategies((strategy) => failed(strategy, 'timeout'))[0], 'wait_retry');
    assert.equal(attemptedStrategies((strategy) => ({ strategy, outcome: 'error', block: null, statusCode: 503 }))[0], 'wait_retry');
  });

  it('the strategy ladder does not circumvent rules', () => {
    for (const failure of [
      (strategy: StrategyName) => blocked(strategy, 'robots_disallowed'),
      (strategy: StrategyName) => blocked(strategy, 'cooldown'),
      (strategy: StrategyName) => failed(strategy, 'blocked_by_policy'),
    ])
      assert.deepEqual(attemptedStrategies(failure), []);
  });

  it('the strategy ladder has nothing to try after a success', () => {
    assert.equal(new Ladder(strategyNames, half).next({ strategy: 'direct', outcome: 'ok', block: null, statusCode: 200 }, 30_000), null);
  });

  it('the strategy ladder waits twice as long each time, and as long as the site asked where that is longer', () => {
    const ladder = new Ladder(['wait_retry'], half);
    const waits = [null, null, null, 30].map(
      (retryAfter) => ladder.next(blocked('wait_retry', 'rate_limited', retryAfter), 60_000)?.waitMs,
    );
    assert.deepEqual(waits, [500, 1000, 2000, 30_000]);
  });

  it('the strategy ladder skips a wait that the site asked for and that does not fit into the time', () => {
    const ladder = new Ladder(strategyNames, half);
    assert.deepEqual(ladder.next(blocked('direct', 'rate_limited', 120), 10_000), { strategy: 'rotate_egress', waitMs: 0 });
    assert.equal(new Ladder(['wait_retry', 'throttle'], half).next(blocked('direct', 'rate_limited', 120), 10_000), null);
  });

  it('the strategy ladder asks no person without enough time', () => {
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

  it('the strategy ladder never takes a strategy that is not allowed, or twice, or beyond the time left, and always ends', () => {
    fc.assert(
      fc.property(
        fc.subarray([...strategyNames]),
        fc.array(anyFailure, { minLength: 1 }),
        fc.integer({ min: 0, max: 180_000 }),
        fc.array(fc.double({ min: 0, max: 0.999 }), { minLength: 1 }),
        (enabled, failures, budgetMs, numbers) => {
          let drawn = 0;
          const ladder = new Ladder(enabled, () => numbers[drawn++ % numbers.length] ?? 0);
          const attempted: StrategyName[] = ['direct'];
          // The time left stays constant here: the ladder must end nevertheless.
          for (let turn = 0; ; turn += 1) {
            assert.ok(turn < 30, 'the ladder does not end');
            const { outcome, type, retryAfter, statusCode, reason } = failures[turn % failures.length] ?? assert.fail();
            const block = outcome === 'blocked' ? { ...blockOf(type), retry_after_seconds: retryAfter } : null;
            const planned = ladder.next({ strategy: attempted.at(-1) ?? 'direct', outcome, block, statusCode, reason }, budgetMs);
            if (!planned) break;
            assert.ok(enabled.includes(planned.strategy));
            assert.ok(planned.strategy === 'wait_retry' || !attempted.includes(planned.strategy));
            assert.ok(Number.isInteger(planned.waitMs) && planned.waitMs >= 0 && planned.waitMs < budgetMs);
            if (block && (planned.strategy === 'wait_retry' || planned.strategy === 'throttle'))
              assert.ok(planned.waitMs >= (retryAfter ?? 0) * 1000);
            attempted.push(planned.strategy);
          }
        },
      ),
    );
  });
});
