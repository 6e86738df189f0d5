/** Endpoints of plans: purchase, billing portal, promo codes and the webhook of the payment provider. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { Code } from './credits.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp, WebUrl } from '../fields.ts';

export const redeemPromo = endpoint({
  id: 'redeemPromo',
  method: 'POST',
  path: '/v1/billing/redeem',
  tag: 'Billing',
  summary: 'Redeem a promo code',
  description:
    'Starts a trial of the code’s plan for your organization and returns when it ends. The previous plan applies ' +
    'again after the trial.',
  auth: 'login',
  body: z
    .strictObject({ code: Code.describe('The code, 1 to 128 characters. Upper and lower case and dashes are ignored.') })
    .meta({ id: 'RedeemPromoRequest' }),
  reply: z
    .object({
      ok: z.literal(true).describe('Always `true`.'),
      tier: z.string().describe('Plan of the trial.'),
      trial_ends_at: Timestamp.describe('When the trial ends (RFC 3339, UTC).'),
    })
    .meta({ id: 'PromoRedeemResponse' }),
  status: 200,
  errors: ['code_not_found', 'code_expired', 'code_already_redeemed', 'plan_active', 'store_unavailable'],
});

export const checkout = endpoint({
  id: 'checkout',
  method: 'POST',
  path: '/v1/billing/checkout',
  tag: 'Billing',
  summary: 'Create a checkout session',
  description: 'Creates a checkout session at the payment provider and returns its URL, where your organization can buy a plan.',
  auth: 'login',
  body: z
    .strictObject({
      tier: boundedString(1, 64).describe('Plan to buy: a tier that has a price in the tiers file.'),
      success_url: WebUrl.optional().describe(
        'URL to which the payment provider redirects after the purchase. Default: the API reference of this service.',
      ),
      cancel_url: WebUrl.optional().describe(
        'URL to which the payment provider redirects if the purchase is cancelled. Default: the API reference of this service.',
      ),
    })
    .meta({ id: 'CheckoutRequest' }),
  reply: z
    .object({
      url: z.string().describe('URL of the checkout page at the payment provider.'),
      id: z.string().describe('Id of the checkout session at the payment provider.'),
    })
    .meta({ id: 'CheckoutResponse' }),
  status: 200,
  errors: ['plan_active', 'billing_not_configured', 'billing_provider_failed', 'store_unavailable'],
});

export const billingPortal = endpoint({
  id: 'billingPortal',
  method: 'POST',
  path: '/v1/billing/portal',
  tag: 'Billing',
  summary: 'Create a billing portal session',
  description: 'Returns a URL at the payment provider where your organization can manage its plan, payment method and invoices.',
  auth: 'login',
  body: z
    .strictObject({
      return_url: WebUrl.optional().describe('URL to which the payment provider links back. Default: the API reference of this service.'),
    })
    .meta({ id: 'PortalRequest' }),
  bodyOptional: true,
  reply: z.object({ url: z.string().describe('URL of the billing portal at the payment provider.') }).meta({ id: 'PortalResponse' }),
  status: 200,
  errors: ['billing_not_configured', 'billing_provider_failed', 'no_subscription', 'store_unavailable'],
});

export const billingWebhook = endpoint({
  id: 'billingWebhook',
  method: 'POST',
  path: '/v1/billing-provider/webhook',
  tag: 'Billing',
  summary: 'Receive a billing event',
  description:
    'Receives events from the payment provider in Stripe’s format, with a `Stripe-Signature` over the bytes of the ' +
    'body. Each event is applied once, and an event older than the newest one applied for its owner is ignored. ' +
    'Without a signing secret, unsigned events are accepted only while the service listens on loopback addresses, or where the ' +
    'operator allows them with BERTH_ALLOW_UNSIGNED_WEBHOOKS.',
  auth: 'none',
  rawBody: 'json',
  bodyLimitBytes: 256 * 1024,
  reply: z
    .object({
      received: z.literal(true).describe('Always `true`.'),
      ignored: z.boolean().describe('Whether the event was ignored because it changes nothing.'),
      duplicate: z.boolean().describe('Whether the event had already been received.'),
    })
    .meta({ id: 'WebhookResponse' }),
  status: 200,
  errors: ['invalid_signature', 'billing_not_configured', 'store_unavailable'],
});
