import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { selfHealOverview } from '@berth/contract';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
const hourMs = 3_600_000;
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

/** Flows and skills do not exist yet. */
const noFlows = { selector_heals: { verified: 0, unverified: 0, failed: 0 }, skills: { active: 0, quarantined: 0 } };
const blocked = () => ({ outcome: 'blocked' as const, startedAt: clock.now() });

describe('200', () => {
  it('GET /admin/selfheal/overview is zero before the first attempt', async () => {
    const { body } = await served.call(selfHealOverview);
    assert.deepEqual(body, {
      window_hours: 24,
      totals: { attempts: 0, ok: 0, blocked: 0, error: 0, healed: 0, unresolved: 0 },
      heal_rate: null,
      by_type: {},
      by_vendor: {},
      by_strategy: {},
      top_domains: [],
      cooldowns: 0,
      ...noFlows,
    });
  });

  it('GET /admin/selfheal/overview counts attempts, blocks and their results', async () => {
    const { selfHeal } = served.app;
    selfHeal.record({ attempts: [attemptOf(blocked()), attemptOf({ n: 2, strategy: 'fresh_context', startedAt: clock.now() })] });
    for (let n = 0; n < 3; n += 1)
      selfHeal.record({ attempts: [attemptOf({ ...blocked(), domain: 'closed.example', block: blockOf('captcha') })] });
    selfHeal.record({ attempts: [attemptOf({ outcome: 'error', startedAt: clock.now() })] });
    const { body } = await served.call(selfHealOverview);
    assert.deepEqual(body, {
      window_hours: 24,
      totals: { attempts: 6, ok: 1, blocked: 4, error: 1, healed: 1, unresolved: 3 },
      heal_rate: 0.25,
      by_type: { captcha: 3, challenge: 1 },
      by_vendor: { cloudflare: 4 },
      by_strategy: { fresh_context: 1 },
      top_domains: [
        { owner: 'anna', domain: 'closed.example', blocks: 3, state: 'cooldown' },
        { owner: 'anna', domain: 'example.com', blocks: 1, state: 'unknown' },
      ],
      cooldowns: 1,
      ...noFlows,
    });
  });

  it('GET /admin/selfheal/overview excludes data older than a day', async () => {
    clock.advance(24 * hourMs);
    const { body } = await served.call(selfHealOverview);
    assert.deepEqual([body.totals.attempts, body.heal_rate, body.top_domains, body.cooldowns], [0, null, [], 0]);
  });
});
