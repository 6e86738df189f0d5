/**
 * A fake Stripe: the part of its API that the service uses, the checkout and
 * portal pages, and signed webhook events.
 *
 * By hand: `node tests/services/stripe-stand-in.ts --webhook URL --secret SECRET`, with
 * BERTH_STRIPE_API_URL of the service set to the printed address.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import {
  checkoutOf,
  eventOf,
  invoiceOf,
  newStripeId,
  seconds,
  signatureOf,
  subscriptionOf,
  type StripeEvent,
} from '../../packages/server/testing/accounts/billing.ts';
import { page, paidPage, payPage, portalPage } from './stripe-pages.ts';

export interface StandInOptions {
  port?: number;
  /** The secret key that the service must send. */
  secretKey?: string;
  /** Signs events; null sends them unsigned. */
  webhookSecret?: string | null;
  /** The known prices; null accepts any. */
  prices?: readonly string[] | null;
  now?: () => Date;
  onDelivered?: (delivery: Delivery) => void;
}

/** A request to the API. */
export interface RecordedRequest {
  method: string;
  path: string;
  form: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** Stripe's request id. */
  requestId: string;
}

/** A sent event and the service's answer; status 0 when there was none. */
export interface Delivery {
  event: StripeEvent;
  status: number;
  body: unknown;
}

/** A failure of the API: an error response, a closed connection, or an invalid body. */
export type Breakdown = 'error' | 'hang_up' | 'nonsense';

interface CheckoutSession {
  id: string;
  url: string;
  price: string;
  customer: string | null;
  metadata: Record<string, string>;
  subscriptionMetadata: Record<string, string>;
  successUrl: string;
  cancelUrl: string;
  paid: Purchase | null;
}

export interface Subscription {
  id: string;
  customer: string;
  price: string;
  status: string;
  startedAt: Date;
  metadata: Record<string, string>;
}

/** A purchase and its event deliveries. */
export interface Purchase {
  subscription: Readonly<Subscription>;
  deliveries: Delivery[];
}

type Reply = { json: unknown; status?: number } | { html: string; status?: number } | { location: string };
type Handler = (id: string, form: URLSearchParams) => Promise<Reply> | Reply;

export const defaultSecretKey = 'sk_test_of_the_stand_in';
export const defaultWebhookSecret = 'whsec_of_the_stand_in';

/** Listens on loopback. The caller closes it. */
export async function startStripe(options: StandInOptions = {}): Promise<StripeStandIn> {
  const server = createServer((request, response) => void standIn.answer(request, response));
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const standIn = new StripeStandIn(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, options, close);
  return standIn;
}

export class StripeStandIn {
  readonly url: string;
  readonly requests: RecordedRequest[] = [];
  readonly deliveries: Delivery[] = [];
  readonly close: () => Promise<void>;
  /** Receives events; null sends none. */
  webhook: string | null = null;
  readonly #options: Required<StandInOptions>;
  readonly #sessions = new Map<string, CheckoutSession>();
  readonly #subscriptions = new Map<string, Subscription>();
  /** Portal sessions by id. */
  readonly #portals = new Map<string, { customer: string; returnUrl: string }>();
  /** Requests and their replies by idempotency key. */
  readonly #answered = new Map<string, { request: string; reply: Reply }>();
  readonly #breakdowns: Breakdown[] = [];
  readonly #api: Record<string, Handler> = {
    'POST /v1/checkout/sessions': (_, form) => this.#openCheckout(form),
    'POST /v1/billing_portal/sessions': (_, form) => this.#openPortal(form),
  };
  readonly #pages: Record<string, Handler> = {
    'GET /pay/:id': (id) => this.#payPage(id),
    'POST /pay/:id': async (id) => {
      await this.pay(id);
      return { location: this.#sessions.get(id)?.successUrl ?? '/' };
    },
    'GET /portal/:id': (id) => this.#portalPage(id),
    'POST /portal/:id': async (id, form) => {
      await this.#change(form);
      return { location: `/portal/${id}` };
    },
  };

  constructor(url: string, options: StandInOptions, close: () => Promise<void>) {
    const {
      port = 0,
      secretKey = defaultSecretKey,
      webhookSecret = defaultWebhookSecret,
      prices = null,
      now = () => new Date(),
      onDelivered = () => {},
    } = options;
    this.url = url;
    this.#options = { port, secretKey, webhookSecret, prices, now, onDelivered };
    this.close = close;
  }

  /** Makes the next API requests fail in this order. */
  breakDown(...breakdowns: Breakdown[]): void {
    this.#breakdowns.push(...breakdowns);
  }

  /** Pays a checkout once, as its button does. Sends events in Stripe's order. */
  async pay(sessionId: string): Promise<Purchase> {
    const session = this.#sessions.get(sessionId);
    if (!session) throw new Error(`unknown checkout session ${sessionId}`);
    if (session.paid) return session.paid;
    const customer = (session.customer ??= newStripeId('cus'));
    const { price, metadata, subscriptionMetadata } = session;
    const subscription: Subscription = {
      id: newStripeId('sub'),
      customer,
      price,
      status: 'incomplete',
      startedAt: this.#options.now(),
      metadata: subscriptionMetadata,
    };
    this.#subscriptions.set(subscription.id, subscription);
    const deliveries: Delivery[] = [];
    session.paid = { subscription, deliveries };
    deliveries.push(
      await this.emit('customer.created', { id: customer, object: 'customer', metadata: {} }),
      await this.#emitSubscription(subscription, 'customer.subscription.created'),
      await this.#emitInvoice(subscription, 'invoice.paid'),
    );
    subscription.status = 'active';
    deliveries.push(await this.#emitSubscription(subscription, 'customer.subscription.updated'));
    const completed = { ...checkoutOf({ subscription: subscription.id, customer }), id: sessionId, metadata };
    deliveries.push(await this.emit('checkout.session.completed', completed));
    return session.paid;
  }

  /** The subscriptions of a customer, oldest first. */
  subscriptionsOf(customer: string): readonly Readonly<Subscription>[] {
    return [...this.#subscriptions.values()].filter((each) => each.customer === customer);
  }

  /** Changes the price as the portal does: Stripe keeps the metadata. */
  async changePrice(subscriptionId: string, price: string): Promise<Delivery> {
    const subscription = this.#subscription(subscriptionId);
    subscription.price = price;
    return this.#emitSubscription(subscription, 'customer.subscription.updated');
  }

  async cancel(subscriptionId: string): Promise<Delivery> {
    const subscription = this.#subscription(subscriptionId);
    subscription.status = 'canceled';
    return this.#emitSubscription(subscription, 'customer.subscription.deleted');
  }

  /** Fails a payment; with `forGood` Stripe does not retry. */
  async failPayment(subscriptionId: string, { forGood = false }: { forGood?: boolean } = {}): Promise<Delivery[]> {
    const subscription = this.#subscription(subscriptionId);
    subscription.status = forGood ? 'unpaid' : 'past_due';
    return [
      await this.#emitInvoice(subscription, 'invoice.payment_failed'),
      await this.#emitSubscription(subscription, 'customer.subscription.updated'),
    ];
  }

  async renew(subscriptionId: string): Promise<Delivery[]> {
    const subscription = this.#subscription(subscriptionId);
    subscription.status = 'active';
    return [
      await this.#emitInvoice(subscription, 'invoice.paid'),
      await this.#emitSubscription(subscription, 'customer.subscription.updated'),
    ];
  }

  /** Sends a new event. */
  emit(type: string, object: unknown): Promise<Delivery> {
    return this.send(eventOf(type, object, { madeAt: this.#options.now() }));
  }

  /** Sends an event, by default signed now with the webhook secret. The same event may be sent again. */
  async send(
    event: StripeEvent,
    { secret = this.#options.webhookSecret, signedAt = this.#options.now() }: { secret?: string | null; signedAt?: Date } = {},
  ): Promise<Delivery> {
    const payload = JSON.stringify(event, null, 2);
    const signature = secret === null ? {} : { 'stripe-signature': signatureOf(payload, { secret, at: signedAt }) };
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      ...signature,
    };
    const delivery: Delivery = { event, status: 0, body: null };
    this.deliveries.push(delivery);
    const response = this.webhook === null ? null : await fetch(this.webhook, { method: 'POST', headers, body: payload }).catch(() => null);
    if (response) Object.assign(delivery, { status: response.status, body: await response.json() });
    this.#options.onDelivered(delivery);
    return delivery;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const form = new URLSearchParams(await text(request));
    const isApi = path.startsWith('/v1/');
    const requestId = newStripeId('req');
    if (isApi) this.requests.push({ method, path, form, headers, requestId });
    const breakdown = isApi ? this.#breakdowns.shift() : undefined;
    if (breakdown === 'hang_up') return void request.socket.destroy();
    response.setHeader('request-id', requestId);
    if (breakdown === 'nonsense') return void response.writeHead(200).end('<html>');
    const answered = (): Promise<Reply> =>
      this.#replyTo(`${method} ${path}`, form, headers).catch((error: unknown) => apiError(500, String(error)));
    const reply = breakdown ? apiError(500, 'An unknown error occurred') : await answered();
    if ('location' in reply) return void response.writeHead(303, { location: reply.location }).end();
    const [type, body] = 'html' in reply ? ['text/html; charset=utf-8', reply.html] : ['application/json', JSON.stringify(reply.json)];
    response.writeHead(reply.status ?? 200, { 'content-type': type }).end(body);
  }

  async #replyTo(line: string, form: URLSearchParams, headers: IncomingMessage['headers']): Promise<Reply> {
    const handler = this.#api[line];
    if (handler) return this.#once(`${line} ${form}`, headers, () => handler('', form));
    const [, start, id = ''] = /^(\w+ \/\w+)\/(\w+)$/.exec(line) ?? [];
    const page = this.#pages[`${start}/:id`];
    return page ? page(id, form) : apiError(404, `Unrecognized request URL (${line})`);
  }

  /** Checks the key of an API request and replays the reply of a used idempotency key. */
  async #once(request: string, headers: IncomingMessage['headers'], work: () => Promise<Reply> | Reply): Promise<Reply> {
    const { authorization = '', 'idempotency-key': key, 'content-type': type = '' } = headers;
    if (authorization !== `Bearer ${this.#options.secretKey}`)
      return apiError(401, `Invalid API Key provided: ${authorization.slice(7, 15)}****`);
    if (!type.startsWith('application/x-www-form-urlencoded')) return apiError(400, 'Invalid request: the body is not a form');
    const before = typeof key === 'string' ? this.#answered.get(key) : undefined;
    if (before && before.request !== request)
      return apiError(400, 'Keys for idempotent request can only be used with the same parameters they were first used with.', {
        type: 'idempotency_error',
      });
    const reply = before?.reply ?? (await work());
    if (typeof key === 'string') this.#answered.set(key, { request, reply });
    return reply;
  }

  #openCheckout(form: URLSearchParams): Reply {
    const absent = ['mode', 'success_url', 'line_items[0][price]', 'line_items[0][quantity]'].find((name) => !form.get(name));
    if (absent) return apiError(400, `Missing required param: ${absent}.`, { code: 'parameter_missing', param: absent });
    const price = form.get('line_items[0][price]') ?? '';
    const { prices, now } = this.#options;
    if (prices && !prices.includes(price))
      return apiError(400, `No such price: '${price}'`, { code: 'resource_missing', param: 'line_items[0][price]' });
    const id = newStripeId('cs_test');
    const session: CheckoutSession = {
      id,
      url: `${this.url}/pay/${id}`,
      price,
      customer: form.get('customer'),
      metadata: fieldsOf(form, 'metadata'),
      subscriptionMetadata: fieldsOf(form, 'subscription_data[metadata]'),
      successUrl: form.get('success_url') ?? '',
      cancelUrl: form.get('cancel_url') ?? '',
      paid: null,
    };
    this.#sessions.set(id, session);
    const { url, customer, metadata } = session;
    const details = {
      client_reference_id: form.get('client_reference_id'),
      customer,
      metadata,
      mode: form.get('mode'),
      subscription: null,
    };
    return { json: { id, object: 'checkout.session', created: seconds(now()), payment_status: 'unpaid', status: 'open', ...details, url } };
  }

  #openPortal(form: URLSearchParams): Reply {
    const customer = form.get('customer') ?? '';
    if (this.subscriptionsOf(customer).length === 0)
      return apiError(400, `No such customer: '${customer}'`, { code: 'resource_missing', param: 'customer' });
    const id = newStripeId('bps');
    const returnUrl = form.get('return_url') ?? '';
    this.#portals.set(id, { customer, returnUrl });
    return {
      json: {
        id,
        object: 'billing_portal.session',
        created: seconds(this.#options.now()),
        customer,
        return_url: returnUrl,
        url: `${this.url}/portal/${id}`,
      },
    };
  }

  #payPage(id: string): Reply {
    const session = this.#sessions.get(id);
    if (!session) return { status: 404, html: page('Unknown checkout', '') };
    return { html: session.paid ? paidPage(session.successUrl) : payPage(session) };
  }

  #portalPage(id: string): Reply {
    const portal = this.#portals.get(id);
    if (!portal) return { status: 404, html: page('Unknown portal', '') };
    return { html: portalPage(this.subscriptionsOf(portal.customer), portal.returnUrl) };
  }

  async #change(form: URLSearchParams): Promise<void> {
    const id = form.get('subscription') ?? '';
    const acts: Record<string, () => Promise<unknown>> = {
      change: () => this.changePrice(id, form.get('price') ?? ''),
      cancel: () => this.cancel(id),
      fail: () => this.failPayment(id),
      renew: () => this.renew(id),
    };
    await acts[form.get('act') ?? '']?.();
  }

  #subscription(id: string): Subscription {
    const subscription = this.#subscriptions.get(id);
    if (!subscription) throw new Error(`unknown subscription ${id}`);
    return subscription;
  }

  #emitSubscription({ metadata, ...fields }: Subscription, type: string): Promise<Delivery> {
    return this.emit(type, { ...subscriptionOf(fields), metadata });
  }

  #emitInvoice({ id, customer, price, metadata }: Subscription, type: 'invoice.paid' | 'invoice.payment_failed'): Promise<Delivery> {
    return this.emit(
      type,
      invoiceOf({ subscription: id, customer, prices: [price], status: type === 'invoice.paid' ? 'paid' : 'open', ...metadata }),
    );
  }
}

const apiError = (status: number, message: string, fields: Record<string, string> = {}): Reply => ({
  status,
  json: { error: { message, type: status >= 500 ? 'api_error' : 'invalid_request_error', ...fields } },
});

/** `metadata[owner]=acme` as `{ owner: 'acme' }`. */
const fieldsOf = (form: URLSearchParams, name: string): Record<string, string> =>
  Object.fromEntries(
    [...form].filter(([key]) => key.startsWith(`${name}[`)).map(([key, value]) => [key.slice(name.length + 1, -1), value]),
  );

if (import.meta.main) {
  const { values } = parseArgs({
    options: { webhook: { type: 'string' }, secret: { type: 'string' }, key: { type: 'string' }, port: { type: 'string', default: '0' } },
  });
  const { webhook, secret = defaultWebhookSecret, key = defaultSecretKey, port } = values;
  const onDelivered = ({ event, status, body }: Delivery): void => console.log(event.type, event.id, status, JSON.stringify(body));
  const standIn = await startStripe({ port: Number(port), webhookSecret: secret, secretKey: key, onDelivered });
  standIn.webhook = webhook ?? null;
  console.log(`Fake Stripe: ${standIn.url}`);
  console.log(`BERTH_STRIPE_API_URL=${standIn.url} BERTH_STRIPE_SECRET_KEY=${key} BERTH_STRIPE_WEBHOOK_SECRET=${secret}`);
}
