/** What an operator's secrets sign at others: a payment provider and a captcha solver that each take one secret at a time. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import { billingWebhook, checkout, createSession, endSession, getCaptcha, getOwner, navigate } from '@berth/contract';
import { eventOf, signatureOf, subscriptionOf } from '../../packages/server/testing/accounts/billing.ts';
import { writePlans } from '../prepare/billing-app.ts';
import { startSite, type Site } from '../e2e/site.ts';
import type { Service } from '../e2e/service.ts';
import { eventually } from '../harness.ts';
import { startStripe, type StripeStandIn } from '../services/stripe-stand-in.ts';

type Which = 'old' | 'new';
const secretsOf = (which: Which) => ({
  stripe: `sk_test_${which}`,
  webhook: `whsec_${which}`,
  captcha: `${which} captcha secret of more than 32 characters`,
});

const widget =
  '<form><div class="g-recaptcha" data-sitekey="site-key"><iframe src="https://www.google.com/recaptcha/api2/anchor?k=site-key"' +
  ' style="width:304px;height:78px"></iframe><textarea name="g-recaptcha-response" style="display:none"></textarea></div></form>';

export class Providers {
  readonly #stripes: Readonly<Record<Which, StripeStandIn>>;
  readonly #site: Site;
  readonly #solver: Server;
  readonly #plans = writePlans();
  /** Secrets that the solver accepts. */
  solverAccepts: Which[] = ['old'];

  private constructor(stripes: Record<Which, StripeStandIn>, site: Site) {
    this.#stripes = stripes;
    this.#site = site;
    this.#solver = createServer((request, response) => {
      void request.toArray().then((parts: Buffer[]) => {
        const body = Buffer.concat(parts);
        const [, t = '', v1] = /^t=(\d+),v1=(\w{64})$/.exec(String(request.headers['berth-signature'])) ?? [];
        const isSignedBy = (which: Which): boolean =>
          createHmac('sha256', secretsOf(which).captcha).update(`${t}.`).update(body).digest('hex') === v1;
        if (!this.solverAccepts.some(isSignedBy)) return response.writeHead(401).end();
        response.end(JSON.stringify({ id: 'job-1', state: 'solved', token: 'a-token' }));
      });
    });
  }

  static async start(): Promise<Providers> {
    const stripes = {
      old: await startStripe({ secretKey: secretsOf('old').stripe }),
      new: await startStripe({ secretKey: secretsOf('new').stripe }),
    };
    const providers = new Providers(stripes, await startSite({ pages: { '/captcha': widget } }));
    providers.#solver.listen(0, '127.0.0.1');
    await once(providers.#solver, 'listening');
    return providers;
  }

  async close(): Promise<void> {
    this.#solver.close();
    await Promise.all([this.#stripes.old.close(), this.#stripes.new.close(), this.#site.close()]);
    rmSync(this.#plans.folder, { recursive: true });
  }

  environment(which: Which): Record<string, string> {
    const { stripe, webhook, captcha } = secretsOf(which);
    return {
      BERTH_DEV_IDP: '1',
      BERTH_TIERS_FILE: this.#plans.file,
      BERTH_STRIPE_SECRET_KEY: stripe,
      BERTH_STRIPE_WEBHOOK_SECRET: webhook,
      BERTH_STRIPE_API_URL: this.#stripes[which].url,
      BERTH_EGRESS_ALLOW: this.#site.host,
      BERTH_CAPTCHA_HTTP_URL: `http://127.0.0.1:${(this.#solver.address() as AddressInfo).port}/`,
      BERTH_CAPTCHA_HTTP_SECRET: captcha,
    };
  }

  /** The status of an event that puts an owner on a plan, signed with these secrets at once, as Stripe does while both are valid. */
  async webhook(service: Service, { owner, tier, by }: { owner: string; tier: string; by: readonly Which[] }): Promise<number> {
    const text = JSON.stringify(eventOf('customer.subscription.updated', subscriptionOf({ owner, tier }), { madeAt: new Date() }));
    const [first = '', ...more] = by.map((which) => signatureOf(text, { secret: secretsOf(which).webhook, at: new Date() }));
    const signature = [first, ...more.map((each) => each.slice(each.indexOf('v1=')))].join(',');
    const { status } = await service.client.call(billingWebhook, { rawBody: text, headers: { 'stripe-signature': signature } });
    return status;
  }

  async tierOf(service: Service, owner: string): Promise<string> {
    return (await service.client.call(getOwner, { params: { owner } })).body.plan.tier;
  }

  /** The status of a checkout: the stand-in checks the secret key. */
  async checkout(service: Service): Promise<number> {
    const form = new URLSearchParams({ email: 'ada@example.com', organisation: 'shop' });
    const page = await (await fetch(`${service.url}/dev-idp/sign-in`, { method: 'POST', body: form })).text();
    const token = /eyJ[\w.-]*/.exec(page)?.[0] ?? assert.fail('no login token');
    return (await service.client.call(checkout, { key: token, body: { tier: 'scale' } })).status;
  }

  /** How a captcha ends: the solver checks the signature. */
  async captcha({ client }: Service): Promise<string> {
    const { session_id } = (await client.call(createSession, { body: { captcha: { mode: 'solve' } } })).body;
    const params = { session_id };
    await client.call(navigate, { params, body: { url: `${this.#site.url}/captcha`, wait_until: 'domcontentloaded' } });
    let state = '';
    const hasEnded = async (): Promise<boolean> => {
      ({ state } = (await client.call(getCaptcha, { params })).body);
      return !['undetected', 'detected', 'solving'].includes(state);
    };
    await eventually('the captcha has an end', hasEnded, 60_000);
    await client.call(endSession, { params });
    return state;
  }
}
