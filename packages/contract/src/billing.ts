/** Plans that are paid for: by a payment provider, or tried with a code. */
import { z } from 'zod';
import { Code } from './credits.ts';
import { endpoint } from './endpoint.ts';
import { Timestamp, WebUrl } from './fields.ts';

export const redeemPromo = endpoint({
  id: 'redeemPromo',
  method: 'POST',
  path: '/v1/billing/redeem',
  tag: 'Billing',
  summary: 'Try a plan with a code: the trial ends by itself',
  auth: 'login',
  body: z.strictObject({ code: Code }).meta({ id: 'RedeemPromoRequest' }),
  reply: z.object({ ok: z.literal(true), tier: z.string(), trial_ends_at: Timestamp }).meta({ id: 'Trial' }),
  status: 200,
  errors: ['code_not_found', 'code_expired', 'code_already_redeemed', 'plan_active', 'store_unavailable'],
});

export const checkout = endpoint({
  id: 'checkout',
  method: 'POST',
  path: '/v1/billing/checkout',
  tag: 'Billing',
  summary: 'An address of the payment provider where a plan is bought',
  auth: 'login',
  body: z
    .strictObject({
      tier: z.string().min(1).max(64).meta({ description: 'A plan that the tiers file has a price for.' }),
      success_url: WebUrl.optional(),
      cancel_url: WebUrl.optional(),
    })
    .meta({ id: 'CheckoutRequest' }),
  reply: z.object({ url: z.string(), id: z.string() }).meta({ id: 'Checkout' }),
  status: 200,
  errors: ['plan_active', 'billing_not_configured', 'billing_provider_failed', 'store_unavailable'],
});

export const billingPortal = endpoint({
  id: 'billingPortal',
  method: 'POST',
  path: '/v1/billing/portal',
  tag: 'Billing',
  summary: 'An address of the payment provider where plan, card and invoices are looked after',
  auth: 'login',
  body: z.strictObject({ return_url: WebUrl.optional() }).meta({ id: 'PortalRequest' }),
  bodyOptional: true,
  reply: z.object({ url: z.string() }).meta({ id: 'Portal' }),
  status: 200,
  errors: ['billing_not_configured', 'billing_provider_failed', 'no_subscription', 'store_unavailable'],
});

export const billingWebhook = endpoint({
  id: 'billingWebhook',
  method: 'POST',
  path: '/v1/billing-provider/webhook',
  tag: 'Billing',
  summary: 'Takes the payment provider’s events',
  description:
    'Events in Stripe’s form, signed in `Stripe-Signature` over the bytes of the body. Each event counts once, and one that is older than the newest applied one of its owner changes nothing. Without a signing secret events are believed as they come, on a loopback address only.',
  auth: 'none',
  rawBody: 'json',
  bodyLimitBytes: 256 * 1024,
  reply: z.object({ received: z.literal(true), ignored: z.boolean(), duplicate: z.boolean() }).meta({ id: 'WebhookReceived' }),
  status: 200,
  errors: ['bad_request', 'invalid_signature', 'billing_not_configured', 'store_unavailable'],
});
