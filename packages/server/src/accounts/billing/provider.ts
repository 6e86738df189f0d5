/** Stripe by its SDK, 22 MB that are loaded on first use. */
import { ServiceError } from '@berth/contract';
import type { Stripe } from 'stripe';
import type { Clock } from '@berth/lib/clock.ts';

export interface StripeSettings {
  /** null: plans cannot be bought. */
  secretKey: string | null;
  /** null: signatures are not verified. */
  webhookSecret: string | null;
  /** null: Stripe's own. */
  apiUrl: string | null;
}

interface CheckoutOptions {
  owner: string;
  tier: string;
  price: string;
  /** null: Stripe creates a customer. */
  customerId: string | null;
  successUrl: string;
  cancelUrl: string;
}

/** Stripe usually responds within a second, and a caller waits. */
const timeoutMs = 20_000;
/** Maximum clock difference of a signature, in the past and in the future, and of an event in the future. */
export const toleranceSeconds = 300;

export class PaymentProvider {
  readonly #settings: StripeSettings;
  readonly #clock: Clock;
  #client: Stripe | undefined;

  constructor(settings: StripeSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** @throws ServiceError billing_not_configured */
  requireKey(): string {
    const { secretKey } = this.#settings;
    if (secretKey === null)
      throw new ServiceError('billing_not_configured', 'Billing is not configured on this service. Ask the operator.');
    return secretKey;
  }

  /**
   * The subscription's metadata has the owner but not the plan: when the plan is
   * changed at Stripe, only the price changes.
   *
   * @throws ServiceError billing_not_configured, billing_provider_failed
   */
  checkout({ owner, tier, price, customerId, successUrl, cancelUrl }: CheckoutOptions): Promise<{ url: string; id: string }> {
    return this.#ask(async (stripe) => {
      const { url, id } = await stripe.checkout.sessions.create({
        mode: 'subscription',
        line_items: [{ price, quantity: 1 }],
        metadata: { owner, tier },
        subscription_data: { metadata: { owner } },
        client_reference_id: owner,
        success_url: successUrl,
        cancel_url: cancelUrl,
        ...(customerId === null ? {} : { customer: customerId }),
      });
      return { url: requireUrl(url), id };
    });
  }

  /** @throws ServiceError billing_not_configured, billing_provider_failed */
  portal(customerId: string, returnUrl: string): Promise<{ url: string }> {
    return this.#ask(async (stripe) => {
      const { url } = await stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl });
      return { url: requireUrl(url) };
    });
  }

  /** @throws ServiceError invalid_signature unless a signature matches the text and is recent */
  async verify(text: string, signature: string | undefined, secret: string): Promise<void> {
    const now = this.#clock.now();
    // The SDK checks only the past. A signature dated in the future could be replayed later.
    if (signature === undefined || secondsBetween(now, signedAt(signature)) > toleranceSeconds) throw invalidSignature();
    const { default: Sdk } = await import('stripe');
    let isRight = false;
    try {
      isRight = Sdk.webhooks.signature?.verifyHeader(text, signature, secret, toleranceSeconds, undefined, now.getTime()) === true;
    } catch {
      // Not logged: the SDK's error contains the whole body.
    }
    if (!isRight) throw invalidSignature();
  }

  async #ask<R>(question: (stripe: Stripe) => Promise<R>): Promise<R> {
    const stripe = (this.#client ??= await this.#connect());
    try {
      return await question(stripe);
    } catch (error) {
      if (error instanceof stripe.errors.StripeError) throw providerFailed(error);
      throw error;
    }
  }

  async #connect(): Promise<Stripe> {
    const secretKey = this.requireKey();
    const { default: Sdk } = await import('stripe');
    return new Sdk(secretKey, { timeout: timeoutMs, maxNetworkRetries: 1, telemetry: false, ...addressOf(this.#settings.apiUrl) });
  }
}

function addressOf(apiUrl: string | null): { host?: string; port?: string; protocol?: 'http' | 'https' } {
  if (apiUrl === null) return {};
  const { hostname, port, protocol } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port || (isPlain ? '80' : '443'), protocol: isPlain ? 'http' : 'https' };
}

function requireUrl(url: string | null): string {
  if (url === null)
    throw new ServiceError('billing_provider_failed', providerFailedMessage, { internal: 'Stripe returned a session without a URL' });
  return url;
}

/** The timestamp of a signature header; null unless there is exactly one. */
function signedAt(signature: string): number | null {
  const [match, ...more] = signature.matchAll(/(?:^|,)t=(\d{1,12})(?=,|$)/g);
  return match && more.length === 0 ? Number(match[1]) : null;
}

const secondsBetween = (now: Date, seconds: number | null): number =>
  seconds === null ? Infinity : Math.abs(Math.floor(now.getTime() / 1000) - seconds);

const invalidSignature = (): ServiceError =>
  new ServiceError(
    'invalid_signature',
    'The signature is invalid or older than five minutes. Check the signing secret of the webhook endpoint.',
  );

const providerFailedMessage = 'The payment provider failed. Try again later, or contact the operator.';

/** The SDK's message may contain request data, so only fields that can be looked up in Stripe's own log are logged. */
function providerFailed({ type, code, param, statusCode, requestId, detail }: Stripe.errors.StripeError): ServiceError {
  const network = detail instanceof Error && 'code' in detail ? detail.code : undefined;
  const fields = Object.entries({ code, param, network, status: statusCode, request: requestId }).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  return new ServiceError('billing_provider_failed', providerFailedMessage, {
    internal: `the payment provider failed: ${[type, ...fields.map(([name, value]) => `${name} ${String(value)}`)].join(', ')}`,
    retryable: statusCode === undefined || statusCode >= 500 || statusCode === 429,
  });
}
