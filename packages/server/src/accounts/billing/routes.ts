import { billingPortal, billingWebhook, checkout, redeemPromo } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { ownerOf, callerOf } from '../principals/principals.ts';
import type { Billing } from './billing.ts';

export function mountBilling(routes: Routes, billing: Billing): void {
  routes.on(redeemPromo, async ({ principal, body }) => {
    const { tier, endsAt } = await billing.promos.redeem({ ...callerOf(principal), code: body.code });
    return { ok: true as const, tier, trial_ends_at: endsAt.toISOString() };
  });
  routes.on(checkout, ({ principal, body, origin }) =>
    billing.checkout({ owner: ownerOf(principal), tier: body.tier, successUrl: body.success_url, cancelUrl: body.cancel_url, origin }),
  );
  routes.on(billingPortal, ({ principal, body, origin }) =>
    billing.portal({ owner: ownerOf(principal), returnUrl: body.return_url, origin }),
  );
  routes.on(billingWebhook, async (call) => ({
    received: true as const,
    ...(await billing.webhook(call.rawBody, call.header('stripe-signature'))),
  }));
}
