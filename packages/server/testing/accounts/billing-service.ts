/** Billing of one worker, on a real store, with signed Stripe events. */
import { ServiceError, type ErrorCode } from '@berth/contract';
import { Audit } from '../../src/accounts/audit/audit.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { loadTiers, Owners, type Tiers } from '../../src/accounts/owners/owners.ts';
import { Rates } from '../../src/rates/rates.ts';
import type { Store } from '../../src/store/store.ts';
import { Billing, type BillingDeps } from '../../src/accounts/billing/billing.ts';
import { eventOf, signatureOf, type StripeEvent } from './billing.ts';

export const secret = 'whsec_test_0123456789';
export const dayMs = 86_400_000;
/** The built-in plans, with prices. */
export const tiers: Tiers = {
  ...loadTiers(null, { billing: true }),
  prices: new Map([
    ['price_dev', 'developer'],
    ['price_scale', 'scale'],
  ]),
  priceOf: (tier) => ({ developer: 'price_dev', scale: 'price_scale' })[tier],
};

export type Received = Awaited<ReturnType<Billing['webhook']>>;
export const applied: Received = { ignored: false, duplicate: false };
export const ignored: Received = { ignored: true, duplicate: false };
export const duplicate: Received = { ignored: false, duplicate: true };

export function openBilling(
  store: Store,
  { clock = new ManualClock(), plans = tiers, ...deps }: Partial<BillingDeps> & { clock?: ManualClock; plans?: Tiers } = {},
) {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: plans, audit, clock });
  const stripe = { secretKey: null, webhookSecret: secret, apiUrl: null };
  const billing = new Billing({
    store,
    owners,
    audit,
    rates: new Rates({ store, workerId: 'wrk_one', hasPeers: () => false }),
    clock,
    log: silentLog,
    stripe,
    unsignedEvents: 'reject',
    isConfigured: true,
    ...deps,
  });
  const send = (event: StripeEvent): Promise<Received> => {
    const payload = JSON.stringify(event);
    return billing.webhook(Buffer.from(payload), signatureOf(payload, { secret, at: clock.now() }));
  };
  return {
    billing,
    owners,
    clock,
    send,
    /** Sends an event created now. */
    sendNow: (type: string, object: unknown): Promise<Received> => send(eventOf(type, object, { madeAt: clock.now() })),
    tierOf: async (owner: string): Promise<string> => (await owners.tierOf(owner)).name,
    /** Oldest first. */
    auditTrail: async (owner: string | undefined) =>
      (await audit.list({ owner, limit: 100 }))
        .toReversed()
        .map(({ actor, action, subject, details }) => ({ actor, action, subject, ...details })),
  };
}

export const refusedWith =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;
