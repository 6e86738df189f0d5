import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UsageResponse } from '@berth/contract';
import { axes, dayMs, usageByAxis, valuesOf } from './usage-series.ts';

const usage: UsageResponse = {
  tier: 'free',
  month: '2026-02',
  usage: { actions: 500, egress_bytes: 0, browser_seconds: 36_000, sessions: 3, captcha_solves: 1 },
  limits: { actions: 1000, egress_bytes: null, browser_seconds: 36_000, captcha_solves: 0 },
  remaining: { actions: 500, egress_bytes: null, browser_seconds: 0, captcha_solves: 0 },
  concurrency_limit: 3,
  premium_egress: false,
  overage_allowed: false,
  enforced: true,
  resets_at: '2026-03-01T00:00:00.000Z',
  trial_ends_at: null,
};
const at = (time: string) => Object.fromEntries(usageByAxis(usage, Date.parse(time)).map((each) => [each.axis, each]));

describe('usage of a month', () => {
  it('usage of a month is a share of each limit, all of one that is zero, and none where there is no limit', () => {
    const { actions, egress_bytes: egress, browser_seconds: browser, sessions, captcha_solves: captchas } = at('2026-02-15T00:00:00Z');
    assert.deepEqual([actions?.share, egress?.share, browser?.share, sessions?.share, captchas?.share], [0.5, null, 1, null, 1]);
  });

  it('usage of a month is forecast at the same rate, but not on the first day', () => {
    assert.equal(at('2026-02-15T00:00:00Z')['actions']?.forecast, 1000);
    assert.equal(at('2026-02-01T12:00:00Z')['actions']?.forecast, null);
    assert.equal(at('2026-03-05T00:00:00Z')['actions']?.forecast, 500);
  });

  it('usage of a month is forecast from the first day with usage, where the days of the whole month are known', () => {
    const none = { actions: 0, egress_bytes: 0, browser_seconds: 0, sessions: 0, captcha_solves: 0 };
    const days = Array.from({ length: 20 }, (_, index) => ({ day: `2026-02-${String(index + 1).padStart(2, '0')}`, ...none }));
    days[14] = { day: '2026-02-15', ...none, actions: 500 };
    const forecast = (known: typeof days, time: string) =>
      usageByAxis({ ...usage, days: known }, Date.parse(time)).find(({ axis }) => axis === 'actions')?.forecast;
    assert.equal(forecast(days, '2026-02-22T00:00:00Z'), 1000);
    assert.equal(forecast(days, '2026-02-15T12:00:00Z'), null);
    assert.equal(forecast(days.slice(10), '2026-02-15T00:00:00Z'), 1000);
  });
});

describe('usage of days', () => {
  it('usage of a day stands at the day’s own date in any time zone', () => {
    const date = new Date(dayMs('2026-03-29'));
    assert.deepEqual([date.getFullYear(), date.getMonth(), date.getDate(), date.getHours()], [2026, 2, 29, 0]);
  });

  it('usage of days has one value for each day and axis', () => {
    const day = { actions: 1, egress_bytes: 2, browser_seconds: 3, sessions: 4, captcha_solves: 5 };
    const days = [
      { day: '2026-02-01', ...day },
      { day: '2026-02-02', ...day },
    ];
    assert.deepEqual(
      axes.map((axis) => valuesOf(days, axis)),
      [1, 2, 3, 4, 5].map((n) => [n, n]),
    );
  });
});
