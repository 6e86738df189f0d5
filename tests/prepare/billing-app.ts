/** A service with billing, and a fake Stripe. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout, getUsage } from '@berth/contract';
import { startApp, type AppOptions, type TestApp } from '../harness.ts';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type Purchase, type StripeStandIn } from '../services/stripe-stand-in.ts';

export interface BillingApp {
  served: TestApp;
  stripe: StripeStandIn;
  /** The owner's current plan. */
  tierOf(owner: string): Promise<string>;
  /** Buys a plan by checkout and returns the event deliveries. */
  buy(owner: string, tier: string): Promise<Purchase>;
  close(): Promise<void>;
}

const plan = { creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null, premium_egress: false };

export const prices = { price_developer: 'developer', price_scale: 'scale' };

/** `free` is the default, `developer` and `scale` are for sale, `internal` is not. */
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

/** Writes a tiers file with prices. The caller removes the folder. */
export function writePlans(): { file: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-plans-'));
  const file = join(folder, 'tiers.json');
  writeFileSync(file, JSON.stringify(plans));
  return { file, folder };
}

export async function startBillingApp(options: AppOptions = {}): Promise<BillingApp> {
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
