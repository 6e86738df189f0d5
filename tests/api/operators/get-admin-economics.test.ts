import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  billingWebhook,
  createCreditCodes,
  economics,
  getUsage,
  grantCredits,
  redeemCredits,
  type EconomicsResponse,
} from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { bytes, startSite, type Site } from '../../fetch-site.ts';
import { browse, startMeteredApp, type MeteredApp } from '../../prepare/metered-app.ts';

/** A byte costs a thousandth directly, and two through a proxy of the owner. */
const prices = {
  currency: 'USD',
  machine_hour: 6,
  egress_gb: { direct: 1_000_000, external: 2_000_000 },
  credit: 0.25,
  fixed_per_month: { server: 40 },
  plans: { single: 19.99 },
};
const clock = new ManualClock();
const folder = mkdtempSync(join(tmpdir(), 'berth-prices-'));
let served: MeteredApp;
let site: Site;
before(async () => {
  const file = join(folder, 'prices.json');
  writeFileSync(file, JSON.stringify(prices));
  [served, site] = await Promise.all([startMeteredApp({ clock, environment: { BERTH_PRICES_FILE: file } }), startSite()]);
  site.on('/', bytes('x'.repeat(10_000), 'text/plain'));
});
after(async () => {
  await Promise.all([served.close(), site.close()]);
  rmSync(folder, { recursive: true });
});

const read = async (): Promise<EconomicsResponse> => (await served.call(economics)).body;
const cents = (amount: number): number => Math.round(amount * 100);

describe('200', () => {
  it('GET /admin/economics is zero but for fixed cost before anything is used', async () => {
    const { revenue, cost, margin, margin_pct, by_plan, by_owner, currency, month } = await read();
    assert.deepEqual(
      { revenue, cost, margin, margin_pct, by_plan, by_owner, currency, month },
      {
        revenue: { subscriptions: 0, credits: 0, total: 0 },
        cost: { vm_hours: 0, egress: 0, captcha: 0, fixed: 40, total: 40 },
        margin: -40,
        margin_pct: null,
        by_plan: [],
        by_owner: [],
        currency: 'USD',
        month: '2026-01',
      },
    );
  });

  it('GET /admin/economics counts what owners used, by the type of their egress, and what they paid', async () => {
    const [direct, proxied] = [await served.newOwner(), await served.newOwner()];
    const { session_id } = await served.create({}, { key: direct.key });
    const { session_id: throughProxy } = await served.create({ proxy: { type: 'external', server: site.url } }, { key: proxied.key });
    await browse(served, session_id, `${site.url}/`);
    await browse(served, throughProxy, `${site.url}/`);
    clock.advance(600_000);
    await served.flush();

    await served.call(grantCredits, { body: { owner: direct.owner, amount: 1000 } });
    const { codes } = (await served.call(createCreditCodes, { body: { amount: 10 } })).body;
    await served.call(redeemCredits, { key: direct.key, body: { code: codes?.[0] ?? '' } });
    const created = Math.floor(clock.now().getTime() / 1000);
    const object = { id: 'sub_1', created, status: 'active', customer: 'cus_1', metadata: { owner: proxied.owner, tier: 'single' } };
    await served.call(billingWebhook, { body: { id: 'evt_1', type: 'customer.subscription.created', created, data: { object } } });

    const used = await Promise.all([direct, proxied].map(async ({ key }) => (await served.call(getUsage, { key })).body.usage));
    const [directBytes = 0, proxiedBytes = 0] = used.map(({ egress_bytes }) => egress_bytes);
    assert.ok(directBytes > 10_000 && proxiedBytes > 0);
    const { revenue, cost, usage, credits, by_owner, by_plan, forecast } = await read();
    assert.deepEqual(usage.egress_bytes, { direct: directBytes, managed: 0, rotating: 0, external: proxiedBytes });
    assert.deepEqual(revenue, { subscriptions: 19.99, credits: 2.5, total: 22.49 });
    assert.deepEqual([credits.granted, credits.redeemed], [1000, 10]);
    // Two browsers for ten minutes at six an hour.
    assert.deepEqual([usage.vm_hours, cost.vm_hours], [0.333333, 2]);
    assert.equal(cents(cost.egress), cents((directBytes + 2 * proxiedBytes) / 1000));
    assert.equal(cents(cost.total), cents(42 + (directBytes + 2 * proxiedBytes) / 1000));
    assert.deepEqual(
      by_plan.map(({ tier, owners, revenue: { total } }) => [tier, owners, total]),
      [
        ['open', 1, 2.5],
        ['single', 1, 19.99],
      ],
    );
    const [mine] = by_owner.filter(({ owner }) => owner === direct.owner);
    assert.deepEqual([mine?.tier, mine?.cost.vm_hours, cents(mine?.cost.egress ?? 0)], ['open', 1, cents(directBytes / 1000)]);
    // Ten of the 44 640 minutes of January have passed.
    assert.equal(cents(forecast.cost), cents(40 + 4464 * (cost.total - 40)));
    assert.equal(cents(forecast.revenue), cents(19.99 + 4464 * 2.5));
  });

  it('GET /admin/economics begins anew with the month', async () => {
    clock.advance(31 * 24 * 3_600_000);
    const { month, revenue, usage, credits, forecast } = await read();
    assert.deepEqual([month, usage.egress_bytes.direct, credits.redeemed], ['2026-02', 0, 0]);
    assert.deepEqual([revenue.subscriptions, revenue.credits, forecast.revenue], [19.99, 0, 19.99]);
  });
});
