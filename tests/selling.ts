/** A service that sells plans, and the stand-in for Stripe that they are paid to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout, getUsage } from '@berth/contract';
import { startApp, type AppOptions, type TestApp } from './harness.ts';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type Paid, type StripeStandIn } from './stripe-stand-in.ts';

export interface Selling {
  served: TestApp;
  stripe: StripeStandIn;
  /** The plan that an owner has now. */
  tierOf(owner: string): Promise<string>;
  /** Buys a plan as a person does, and gives what Stripe told of it. */
  buy(owner: string, tier: string): Promise<Paid>;
  close(): Promise<void>;
}

const plan = { creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null, premium_egress: false };

export const prices = { price_developer: 'developer', price_scale: 'scale' };

/** `free` is nobody's choice, `developer` and `scale` are for sale, `internal` is not. */
const plans = {
  default_tier: 'free',
  tiers: {
    free: { ...plan, concurrency_limit: 1 },
    developer: { ...plan, concurrency_limit: 2 },
    scale: { ...plan, concurrency_limit: 3 },
    internal: { ...plan, concurrency_limit: 4 },
  },
  prices,
};

/** A file of plans with prices. It goes with its folder. */
export function writePlans(): { file: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-plans-'));
  const file = join(folder, 'tiers.json');
  writeFileSync(file, JSON.stringify(plans));
  return { file, folder };
}

export async function startSelling(options: AppOptions = {}): Promise<Selling> {
  const stripe = await startStripe({
    prices: Object.keys(prices),
    ...(options.clock ? { now: () => options.clock?.now() ?? new Date() } : {}),
  });
  const { file, folder } = writePlans();
  const environment = {
    BERTH_TIERS_FILE: file,
    BERTH_STRIPE_SECRET_KEY: defaultSecretKey,
    BERTH_STRIPE_WEBHOOK_SECRET: defaultWebhookSecret,
    BERTH_STRIPE_API_URL: stripe.url,
    ...options.environment,
  };
  const served = await startApp({ ...options, environment });
  stripe.webhook = `${served.url}/v1/billing-provider/webhook`;
  return {
    served,
    stripe,
    tierOf: async (owner) => (await served.call(getUsage, { key: await served.ownerKey(owner) })).body.tier,
    buy: async (owner, tier) => {
      const { status, text, body } = await served.call(checkout, { key: await served.login(owner), body: { tier } });
      assert.equal(status, 200, text);
      return stripe.pay(body.id);
    },
    close: async () => {
      await served.close();
      await stripe.close();
      rmSync(folder, { recursive: true });
    },
  };
}
