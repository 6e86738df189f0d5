import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getStrategies, strategyNames } from '@berth/contract';
import { attemptOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';

const query = { owner: 'anna', domain: 'example.com' };
let served: TestApp;
before(async () => {
  served = await startApp();
  const startedAt = new Date('2026-11-21T09:30:00.000Z');
  for (let n = 0; n < 6; n += 1)
    served.app.selfHeal.record({
      attempts: [attemptOf({ outcome: 'blocked', startedAt }), attemptOf({ n: 2, strategy: 'wait_retry', startedAt, durationMs: 300 })],
    });
});
after(() => served.close());

describe('200', () => {
  it('GET /admin/strategies reports the results of each strategy, gentlest first, and the next one', async () => {
    const { body } = await served.call(getStrategies, { query });
    assert.deepEqual([body.owner, body.domain, body.current, body.next_probe_at], ['anna', 'example.com', 'wait_retry', null]);
    assert.deepEqual(
      body.strategies.map(({ name }) => name),
      strategyNames,
    );
    const [direct, waited, paced] = body.strategies;
    assert.deepEqual(direct, {
      name: 'direct',
      attempts: 6,
      successes: 0,
      blocks: 6,
      errors: 0,
      success_rate: 0,
      score: 0,
      avg_latency_ms: 100,
      avg_cost_credits: 0.01,
      last_used_at: '2026-11-21T09:30:00.100Z',
      enabled: true,
    });
    assert.deepEqual([waited?.successes, waited?.success_rate, waited?.score?.toFixed(4), waited?.avg_latency_ms], [6, 1, '0.6097', 300]);
    assert.deepEqual(
      [paced?.attempts, paced?.success_rate, paced?.score, paced?.avg_cost_credits, paced?.last_used_at],
      [0, null, null, null, null],
    );
  });

  it('GET /admin/strategies reports which strategies are available', async () => {
    const { body } = await served.call(getStrategies, { query });
    const enabled = new Map(body.strategies.map((strategy) => [strategy.name, strategy.enabled]));
    // A proxy list comes from the caller; a proxy provider is configured by the operator.
    assert.deepEqual([enabled.get('direct'), enabled.get('rotate_egress'), enabled.get('captcha_provider')], [true, true, false]);
  });

  it('GET /admin/strategies reports when a cooldown ends', async () => {
    const closed = { owner: 'anna', domain: 'closed.example' };
    for (let n = 0; n < 3; n += 1)
      served.app.selfHeal.record({ attempts: [attemptOf({ ...closed, outcome: 'blocked', startedAt: new Date() })] });
    const { body } = await served.call(getStrategies, { query: closed });
    assert.ok(Date.parse(body.next_probe_at ?? '') > Date.now());
  });

  it('GET /admin/strategies starts with the direct strategy on an unknown site', async () => {
    const { body } = await served.call(getStrategies, { query: { owner: 'ben', domain: 'example.com' } });
    assert.deepEqual([body.current, body.strategies.every(({ attempts }) => attempts === 0)], ['direct', true]);
  });
});

describe('422', () => {
  it('GET /admin/strategies answers 422 without an owner and a domain, and reports both at once', async () => {
    const issues = await served.issues(getStrategies);
    assert.deepEqual(
      issues.map(({ loc, type }) => [...loc, type]),
      [
        ['query', 'owner', 'missing'],
        ['query', 'domain', 'missing'],
      ],
    );
  });

  it('GET /admin/strategies refuses a text that is no host, and a very long owner, with 422', async () => {
    const issues = await served.issues(getStrategies, { query: { owner: 'a'.repeat(300), domain: 'http://example.com' } });
    assert.deepEqual(
      issues.map(({ loc, type }) => [...loc, type]),
      [
        ['query', 'owner', 'string_too_long'],
        ['query', 'domain', 'host_name'],
      ],
    );
  });
});
