/** Stripe objects and events for tests, signed with Stripe's SDK. */
import { randomBytes } from 'node:crypto';
import Stripe from 'stripe';

export type StripeObject = Record<string, unknown> & { id: string };

export interface StripeEvent {
  id: string;
  object: 'event';
  api_version: string;
  created: number;
  livemode: boolean;
  pending_webhooks: number;
  request: { id: string | null; idempotency_key: string | null };
  type: string;
  data: { object: unknown };
}

/** An id in Stripe's format, such as `cus_…`. */
export const newStripeId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;

export const seconds = (at: Date): number => Math.floor(at.getTime() / 1000);

export const eventOf = (
  type: string,
  object: unknown,
  { id = newStripeId('evt'), madeAt }: { id?: string; madeAt: Date },
): StripeEvent => ({
  id,
  object: 'event',
  api_version: '2026-10-28.endive',
  created: seconds(madeAt),
  livemode: false,
  pending_webhooks: 1,
  request: { id: null, idempotency_key: null },
  type,
  data: { object },
});

const line = (price: string, fields: Record<string, unknown> = {}): StripeObject => ({
  id: newStripeId('si'),
  object: 'subscription_item',
  quantity: 1,
  price: { id: price, object: 'price' },
  ...fields,
});

export interface SubscriptionOptions {
  id?: string;
  owner?: string;
  tier?: string;
  price?: string;
  status?: string;
  customer?: string;
  startedAt?: Date;
}

const metadataOf = ({ owner, tier }: { owner?: string | undefined; tier?: string | undefined }): Record<string, string> => ({
  ...(owner === undefined ? {} : { owner }),
  ...(tier === undefined ? {} : { tier }),
});

export const subscriptionOf = ({
  id = 'sub_1',
  price = 'price_1',
  status = 'active',
  customer = 'cus_1',
  startedAt,
  ...fields
}: SubscriptionOptions): StripeObject => ({
  id,
  object: 'subscription',
  ...(startedAt ? { created: seconds(startedAt) } : {}),
  customer,
  items: { object: 'list', data: [line(price)], has_more: false },
  metadata: metadataOf(fields),
  status,
});

export interface InvoiceOptions {
  subscription?: string;
  owner?: string;
  tier?: string;
  /** Paid prices; a `-` prefix marks a refund. */
  prices?: string[];
  customer?: string;
  status?: string;
}

export const invoiceOf = ({
  subscription = 'sub_1',
  prices = ['price_1'],
  customer = 'cus_1',
  status = 'paid',
  ...fields
}: InvoiceOptions): StripeObject => ({
  id: newStripeId('in'),
  object: 'invoice',
  customer,
  lines: {
    object: 'list',
    data: prices.map((price) => ({
      id: newStripeId('il'),
      object: 'line_item',
      amount: price.startsWith('-') ? -500 : 2000,
      pricing: { type: 'price_details', price_details: { price: price.replace(/^-/, ''), product: 'prod_1' }, unit_amount_decimal: '2000' },
    })),
    has_more: false,
  },
  metadata: {},
  parent: { type: 'subscription_details', quote_details: null, subscription_details: { metadata: metadataOf(fields), subscription } },
  status,
});

export interface CheckoutSessionOptions {
  owner?: string;
  tier?: string;
  subscription?: string;
  customer?: string;
  paymentStatus?: 'paid' | 'unpaid' | 'no_payment_required';
}

export const checkoutOf = ({
  subscription = 'sub_1',
  customer = 'cus_1',
  paymentStatus = 'paid',
  ...fields
}: CheckoutSessionOptions): StripeObject => ({
  id: newStripeId('cs_test'),
  object: 'checkout.session',
  customer,
  metadata: metadataOf(fields),
  mode: 'subscription',
  payment_status: paymentStatus,
  status: 'complete',
  subscription,
});

/** The header `Stripe-Signature` of a body. */
export const signatureOf = (payload: string, { secret, at, scheme }: { secret: string; at: Date; scheme?: string }): string =>
  Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: seconds(at), ...(scheme === undefined ? {} : { scheme }) });
