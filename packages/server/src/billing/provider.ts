/** Stripe, through its SDK: 22 MB that are loaded when they are first needed. */
import { ServiceError } from '@berth/contract';
import type { Stripe } from 'stripe';
import type { Clock } from '../lib/clock.ts';

export interface StripeSettings {
  /** null: nothing can be bought. */
  secretKey: string | null;
  /** null: events come without a signature. */
  webhookSecret: string | null;
  /** null: Stripe's own. */
  apiUrl: string | null;
}

export interface CheckoutOrder {
  owner: string;
  tier: string;
  price: string;
  /** null: the provider makes one. */
  customerId: string | null;
  successUrl: string;
  cancelUrl: string;
}

/** Stripe answers in one second; somebody waits for it. */
const timeoutMs = 20_000;
/** How far a signature's time may be from ours, before and after. */
const toleranceSeconds = 300;

export class PaymentProvider {
  readonly #settings: StripeSettings;
  readonly #clock: Clock;
  #client: Stripe | undefined;

  constructor(settings: StripeSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Throws ServiceError billing_not_configured where there is no key of the provider. */
  requireKey(): string {
    const { secretKey } = this.#settings;
    if (secretKey === null) throw new ServiceError('billing_not_configured', 'Plans are not sold here. Ask the operator.');
    return secretKey;
  }

  /**
   * Throws ServiceError billing_not_configured or billing_provider_failed.
   *
   * The subscription is told its owner and not its plan: when the plan is
   * changed at the provider, only its price changes with it.
   */
  checkout({ owner, tier, price, customerId, successUrl, cancelUrl }: CheckoutOrder): Promise<{ url: string; id: string }> {
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
      return { url: pageOf(url), id };
    });
  }

  /** Throws ServiceError billing_not_configured or billing_provider_failed. */
  portal(customerId: string, returnUrl: string): Promise<{ url: string }> {
    return this.#ask(async (stripe) => {
      const { url } = await stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl });
      return { url: pageOf(url) };
    });
  }

  /** Throws ServiceError invalid_signature unless one of the signatures is of this very text, and of now. */
  async verify(text: string, signature: string | undefined, secret: string): Promise<void> {
    const now = this.#clock.now();
    // The SDK looks at the past alone. What is signed for later could be kept, and sent when the time has come.
    if (signature === undefined || secondsBetween(now, signedAt(signature)) > toleranceSeconds) throw invalidSignature();
    const { default: Sdk } = await import('stripe');
    let isRight = false;
    try {
      isRight = Sdk.webhooks.signature?.verifyHeader(text, signature, secret, toleranceSeconds, undefined, now.getTime()) === true;
    } catch {
      // Why it is not, its error tells together with the whole body, which is nobody's.
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

function pageOf(url: string | null): string {
  if (url === null)
    throw new ServiceError('billing_provider_failed', failedWords, { internal: 'the payment provider has made a session without a page' });
  return url;
}

/** The one time that a signature names; null where it does not. */
function signedAt(signature: string): number | null {
  const [found, ...more] = signature.matchAll(/(?:^|,)t=(\d{1,12})(?=,|$)/g);
  return found && more.length === 0 ? Number(found[1]) : null;
}

const secondsBetween = (now: Date, seconds: number | null): number =>
  seconds === null ? Infinity : Math.abs(Math.floor(now.getTime() / 1000) - seconds);

const invalidSignature = (): ServiceError =>
  new ServiceError(
    'invalid_signature',
    'The event is not signed with the secret of this service, or was not signed within the last five minutes.',
  );

const failedWords = 'The payment provider could not do this. Try again in a while, or tell the operator.';

/** Its message may hold what was sent to it, so the log is told what the provider's own log can be searched for. */
function providerFailed({ type, code, param, statusCode, requestId, detail }: Stripe.errors.StripeError): ServiceError {
  const network = detail instanceof Error && 'code' in detail ? detail.code : undefined;
  const facts = Object.entries({ code, param, network, status: statusCode, request: requestId }).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  return new ServiceError('billing_provider_failed', failedWords, {
    internal: `the payment provider failed: ${[type, ...facts.map(([name, value]) => `${name} ${String(value)}`)].join(', ')}`,
    retryable: statusCode === undefined || statusCode >= 500 || statusCode === 429,
  });
}
