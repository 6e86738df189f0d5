import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { UsageByEgress } from '../accounts/metering/metering.ts';
import { toEconomics, type MonthFigures } from './margins.ts';
import { loadPrices, PricesFileError } from './prices.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-prices-'));
after(() => rmSync(folder, { recursive: true }));
const plans = ['free', 'developer', 'scale'];
function load(prices: unknown, name = 'prices.json') {
  writeFileSync(join(folder, name), typeof prices === 'string' ? prices : JSON.stringify(prices));
  return loadPrices(join(folder, name), plans);
}

const euros = {
  currency: 'EUR',
  machine_hour: 0.012,
  egress_gb: { direct: 0.01, managed: 4, rotating: 6 },
  captcha: 0.002,
  credit: 0.01,
  fixed_per_month: { server: 45.5, backup: 3.5 },
  plans: { developer: 29, scale: 399 },
};
const hourMs = 3_600_000;
const gigabyte = 1_000_000_000;
const usageOf = (owner: string, more: Partial<UsageByEgress>): UsageByEgress => ({
  owner,
  egressType: 'direct',
  browserMs: 0,
  egressBytes: 0,
  captchaSolves: 0,
  ...more,
});

/** Ten of the thirty days of November have passed. */
const figures: MonthFigures = {
  month: '2026-11',
  from: new Date('2026-11-01T00:00:00Z'),
  to: new Date('2026-12-01T00:00:00Z'),
  now: new Date('2026-11-11T00:00:00Z'),
  usage: [
    usageOf('acme', { browserMs: 100 * hourMs, egressBytes: 50 * gigabyte, captchaSolves: 250 }),
    usageOf('globex', { egressType: 'rotating', browserMs: 1000.5 * hourMs, egressBytes: 12.5 * gigabyte }),
    usageOf('globex', { egressType: null, egressBytes: 3_333_333_333 }),
    usageOf('initech', { egressType: 'managed', browserMs: hourMs, egressBytes: gigabyte / 4 }),
  ],
  flows: [
    { owner: 'acme', granted: 100_000_000, redeemed: 0, spent: 30_000_000 },
    { owner: 'initech', granted: 0, redeemed: 500_000_000, spent: 123_456_789 },
  ],
  subscriptions: [
    { owner: 'acme', tier: 'developer', status: 'active' },
    { owner: 'globex', tier: 'scale', status: 'active' },
  ],
  tiers: new Map([
    ['acme', 'scale'],
    ['globex', 'scale'],
    ['initech', 'free'],
  ]),
};

describe('the economics of a month', () => {
  it('the economics of a month are those of an example that was worked out by hand, to the cent and beyond', () => {
    const { assumptions, ...rest } = toEconomics(figures, load(euros));
    const acme = {
      revenue: { subscriptions: 29, credits: 0, total: 29 },
      cost: { vm_hours: 1.2, egress: 0.5, captcha: 0.5, total: 2.2 },
      margin: 26.8,
      margin_pct: 92.41,
    };
    const globex = {
      revenue: { subscriptions: 399, credits: 0, total: 399 },
      cost: { vm_hours: 12.006, egress: 75.033333, captcha: 0, total: 87.039333 },
      margin: 311.960667,
      margin_pct: 78.19,
    };
    const initech = {
      revenue: { subscriptions: 0, credits: 5, total: 5 },
      cost: { vm_hours: 0.012, egress: 1, captcha: 0, total: 1.012 },
      margin: 3.988,
      margin_pct: 79.76,
    };
    assert.deepEqual(rest, {
      object: 'economics',
      month: '2026-11',
      at: '2026-11-11T00:00:00.000Z',
      currency: 'EUR',
      revenue: { subscriptions: 428, credits: 5, total: 433 },
      cost: { vm_hours: 13.218, egress: 76.533333, captcha: 0.5, fixed: 49, total: 139.251333 },
      margin: 293.748667,
      margin_pct: 67.84,
      usage: {
        vm_hours: 1101.5,
        egress_bytes: { direct: 53_333_333_333, managed: 250_000_000, rotating: 12_500_000_000, external: 0 },
        captcha_solves: 250,
      },
      credits: { granted: 100, redeemed: 500, spent: 153.456789 },
      by_plan: [
        { tier: 'developer', owners: 1, ...acme },
        { tier: 'free', owners: 1, ...initech },
        { tier: 'scale', owners: 1, ...globex },
      ],
      by_owner: [
        { owner: 'globex', tier: 'scale', ...globex },
        { owner: 'acme', tier: 'developer', ...acme },
        { owner: 'initech', tier: 'free', ...initech },
      ],
      forecast: { revenue: 443, cost: 319.753999, margin: 123.246001, margin_pct: 27.82 },
    });
    assert.ok(assumptions.some((text) => text.includes('counts as direct: 3333333333 bytes')));
  });

  it('the economics of a month add up exactly where floating point does not', () => {
    const owners = Array.from({ length: 1000 }, (_, n) => `owner-${n}`);
    const usage = owners.map((owner) => usageOf(owner, { captchaSolves: 1 }));
    const { cost, by_owner, by_plan } = toEconomics(
      { ...figures, usage, flows: [], subscriptions: [] },
      load({ currency: 'EUR', captcha: 0.1 }),
    );
    assert.deepEqual([cost.total, by_owner.length, by_plan[0]?.cost.total], [100, 50, 100]);
    const summed = owners.reduce((sum) => sum + 0.1, 0);
    assert.notEqual(summed, 100);
  });

  it('the economics of a month have no margin in percent without revenue, and a negative one where cost is higher', () => {
    const idle = { ...figures, usage: [], flows: [], subscriptions: [] };
    const lossy = toEconomics(idle, load({ currency: 'EUR', fixed_per_month: { server: 10 } }));
    assert.deepEqual([lossy.revenue.total, lossy.margin, lossy.margin_pct], [0, -10, null]);
    const subscriptions = [{ owner: 'acme', tier: 'developer', status: 'active' as const }];
    const small = load({ currency: 'EUR', plans: { developer: 3 }, fixed_per_month: { server: 5 } });
    assert.equal(toEconomics({ ...idle, subscriptions }, small).margin_pct, -66.67);
  });

  it('the economics of a month say which plans have no price, and count only subscriptions that are paid', () => {
    const subscriptions = [
      { owner: 'acme', tier: 'developer', status: 'active' as const },
      { owner: 'globex', tier: 'scale', status: 'past_due' as const },
      { owner: 'hooli', tier: 'free', status: 'active' as const },
    ];
    const { revenue, assumptions } = toEconomics({ ...figures, flows: [], usage: [], subscriptions }, load(euros));
    assert.equal(revenue.subscriptions, 29);
    assert.ok(assumptions.includes('The plan free has subscriptions and no price, so they count as 0.'));
    assert.ok(assumptions.includes('Subscriptions whose last payment failed do not count: 1.'));
  });

  it('the economics of a month are in no currency and cost nothing without a price file, and say so', () => {
    const { currency, cost, revenue, assumptions } = toEconomics(figures, loadPrices(null, plans));
    assert.deepEqual([currency, cost.total, revenue.total], [null, 0, 0]);
    assert.equal(assumptions[0], 'BERTH_PRICES_FILE is not set, so all prices are 0.');
    assert.ok(assumptions.includes('A credit has no price, so redeemed credits count as 0.'));
  });
});

describe('the price file', () => {
  const errors: [why: string, file: unknown, message: RegExp][] = [
    ['that is no JSON', '{', /BERTH_PRICES_FILE .*prices\.json cannot be read as JSON/],
    ['without a currency', {}, /not valid: currency: /],
    ['with a negative price', { ...euros, egress_gb: { managed: -1 } }, /not valid: egress_gb\.managed: /],
    ['with a seventh decimal', { ...euros, captcha: 0.0000001 }, /captcha: Expected at most 6 decimals/],
    ['with an unknown field', { ...euros, disk_gb: 1 }, /"disk_gb"/],
    ['with an unknown plan', { ...euros, plans: { gold: 1 } }, /plans\.gold: no such plan; the plans are free, developer, scale/],
  ];
  for (const [why, file, message] of errors)
    it(`a price file ${why} is refused with the place of the error`, () => {
      assert.throws(
        () => load(file),
        (error) => error instanceof PricesFileError && message.test(error.message),
      );
    });

  it('a missing price file is refused with its name', () => {
    assert.throws(() => loadPrices(join(folder, 'none.json'), plans), /none\.json cannot be read/);
  });
});
