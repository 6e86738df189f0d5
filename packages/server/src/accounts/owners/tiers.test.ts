import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadTiers } from './owners.ts';

const unpaid = { billing: false };
const noLimits = { actions: null, egress_bytes: null, browser_seconds: null, captcha_solves: null };

describe('the plan table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tiers-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, table: unknown): string => {
    writeFileSync(join(folder, name), typeof table === 'string' ? table : JSON.stringify(table));
    return join(folder, name);
  };
  const old = {
    concurrency_limit: null,
    creates_per_minute: null,
    requests_per_minute: null,
    max_session_seconds: 900,
    tab_limit: null,
    premium_egress: false,
  };

  it('the plan table has self_hosted without limits by default', () => {
    const tiers = loadTiers(null, unpaid);
    assert.equal(tiers.default, 'self_hosted');
    assert.deepEqual(tiers.get('self_hosted'), {
      name: 'self_hosted',
      concurrency_limit: null,
      creates_per_minute: null,
      requests_per_minute: null,
      key_calls_per_minute: null,
      max_session_seconds: 86_400,
      tab_limit: null,
      premium_egress: true,
      recording_retention_days: 30,
      job_weight: 1,
      limits: noLimits,
      overage_allowed: false,
      enforced: false,
    });
  });

  it('the plan table begins with the free plan where plans are paid for', () => {
    const tiers = loadTiers(null, { billing: true });
    assert.deepEqual(tiers.get(tiers.default), {
      name: 'free',
      concurrency_limit: 3,
      creates_per_minute: 5,
      requests_per_minute: 600,
      key_calls_per_minute: 30,
      max_session_seconds: 900,
      tab_limit: null,
      premium_egress: false,
      recording_retention_days: 1,
      job_weight: 1,
      limits: { actions: 1000, egress_bytes: 1_000_000_000, browser_seconds: 36_000, captcha_solves: 0 },
      overage_allowed: false,
      enforced: true,
    });
  });

  it('the plan table gives more of everything on larger plans', () => {
    const tiers = loadTiers(null, unpaid);
    const hosted = ['free', 'developer', 'startup', 'scale'].map((name) => tiers.get(name) ?? assert.fail(name));
    const rises = (what: string, values: (number | null)[]): void =>
      assert.ok(
        values.every((value, at) => at === 0 || (value ?? Infinity) >= (values[at - 1] ?? Infinity)),
        `${what}: ${values.join(', ')}`,
      );
    for (const field of [
      'concurrency_limit',
      'creates_per_minute',
      'max_session_seconds',
      'recording_retention_days',
      'job_weight',
    ] as const)
      rises(
        field,
        hosted.map((tier) => tier[field]),
      );
    for (const axis of ['actions', 'egress_bytes', 'browser_seconds', 'captcha_solves'] as const)
      rises(
        axis,
        hosted.map(({ limits }) => limits[axis]),
      );
    assert.deepEqual(
      hosted.map(({ premium_egress: premium, overage_allowed: overage }) => [premium, overage]),
      [
        [false, false],
        [false, false],
        [false, false],
        [true, true],
      ],
    );
  });

  it('the plan table keeps recordings for longer on larger plans', () => {
    const tiers = loadTiers(null, unpaid);
    assert.deepEqual(
      ['free', 'developer', 'startup', 'scale', 'self_hosted'].map((name) => tiers.get(name)?.recording_retention_days),
      [1, 7, 30, 90, 30],
    );
  });

  it('the plan table takes a file in its first form: limits are null and enforced, recordings kept for 30 days', () => {
    const tiers = loadTiers(file('before.json', { default_tier: 'a', tiers: { a: old } }), { billing: true });
    assert.equal(tiers.default, 'a');
    assert.deepEqual(tiers.get('a'), {
      ...old,
      name: 'a',
      key_calls_per_minute: null,
      recording_retention_days: 30,
      job_weight: 1,
      limits: noLimits,
      overage_allowed: false,
      enforced: true,
    });
    assert.deepEqual([tiers.prices.size, tiers.priceOf('a')], [0, undefined]);
  });

  it('the plan table limits nothing that a file does not name', () => {
    const tiers = loadTiers(file('some.json', { default_tier: 'a', tiers: { a: { ...old, limits: { actions: 10 } } } }), unpaid);
    assert.deepEqual(tiers.get('a')?.limits, { ...noLimits, actions: 10 });
  });

  it('the plan table knows what a price buys, and the first price of a tier', () => {
    const prices = { price_month: 'a', price_year: 'a', price_other: 'b' };
    const tiers = loadTiers(file('prices.json', { default_tier: 'a', tiers: { a: old, b: old, c: old }, prices }), unpaid);
    assert.deepEqual([...tiers.prices], Object.entries(prices));
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((tier) => tiers.priceOf(tier)),
      ['price_month', 'price_other', undefined, undefined],
    );
  });

  it('the plan table takes the file that the documentation shows', () => {
    const page = readFileSync(new URL('../../../../../docs/plans.md', import.meta.url), 'utf8');
    const [, example = ''] = /```json\n([^]*?)```/.exec(page) ?? [];
    const tiers = loadTiers(file('example.json', example), unpaid);
    assert.deepEqual([tiers.default, tiers.names, tiers.priceOf('team')], ['trial', ['trial', 'team'], 'price_team_monthly']);
  });

  it('the plan table is refused with the file and the field that is wrong', () => {
    const refused = (name: string, table: unknown, why: RegExp): void => assert.throws(() => loadTiers(file(name, table), unpaid), why);
    const only = (tier: object): object => ({ default_tier: 'a', tiers: { a: { ...old, ...tier } } });
    refused('wrong.json', only({ concurrency_limit: 'many' }), /wrong\.json[^]*concurrency_limit/);
    refused('negative.json', only({ limits: { actions: -1 } }), /negative\.json[^]*limits\.actions/);
    refused('fraction.json', only({ limits: { egress_bytes: 0.5 } }), /fraction\.json[^]*limits\.egress_bytes/);
    refused('unknown.json', only({ limits: { clicks: 1 } }), /unknown\.json[^]*clicks/);
    refused('flag.json', only({ enforced: 'no' }), /flag\.json[^]*enforced/);
    refused('broken.json', '{', /broken\.json/);
    refused('default.json', { default_tier: 'b', tiers: {} }, /default_tier "b"/);
    refused('price.json', { ...only({}), prices: { price_1: 'gold' } }, /price\.json: prices\."price_1" names "gold"/);
  });
});
