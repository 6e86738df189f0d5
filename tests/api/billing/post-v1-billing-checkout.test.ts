import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { checkout } from '@berth/contract';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { startApp, type Reply } from '../../harness.ts';
import { startBillingApp, type BillingApp } from '../../prepare/billing-app.ts';
import { defaultSecretKey } from '../../services/stripe-stand-in.ts';

const warned: string[] = [];
const log: Log = {
  ...silentLog,
  warn: (fields) => void warned.push('err' in fields && fields.err instanceof Error ? fields.err.message : ''),
  child: () => log,
};
let paid: BillingApp;
before(async () => {
  paid = await startBillingApp({ log });
});
after(() => paid.close());

const checkOut = async (owner: string, body: Record<string, unknown>): Promise<Reply<{ url: string; id: string }>> =>
  paid.served.call(checkout, { key: await paid.served.login(owner), body });
/** The latest request to Stripe. */
const lastForm = (): Record<string, string> => Object.fromEntries(paid.stripe.requests.at(-1)?.form ?? []);

describe('200', () => {
  it('POST /v1/billing/checkout returns a checkout page that activates the plan when paid', async () => {
    const { body } = await checkOut('buyer', {
      tier: 'scale',
      success_url: 'https://shop.example/thanks',
      cancel_url: 'https://shop.example/',
    });
    const page = await (await fetch(body.url)).text();
    assert.match(page, /buyer subscribes to <b>price_scale<\/b>/);
    assert.equal(await paid.tierOf('buyer'), 'free');
    const done = await fetch(body.url, { method: 'POST', redirect: 'manual' });
    assert.deepEqual([done.status, done.headers.get('location')], [303, 'https://shop.example/thanks']);
    assert.equal(await paid.tierOf('buyer'), 'scale');
    assert.match(await (await fetch(body.url)).text(), /This is paid/);
    assert.equal(paid.stripe.deliveries.filter(({ status }) => status !== 200).length, 0);
  });

  it('POST /v1/billing/checkout passes the owner to the provider, so that its events contain it', async () => {
    await checkOut('teller', { tier: 'developer', success_url: 'https://shop.example/?a=1&b=2' });
    assert.deepEqual(lastForm(), {
      mode: 'subscription',
      'line_items[0][price]': 'price_developer',
      'line_items[0][quantity]': '1',
      'metadata[owner]': 'teller',
      'metadata[tier]': 'developer',
      'subscription_data[metadata][owner]': 'teller',
      client_reference_id: 'teller',
      success_url: 'https://shop.example/?a=1&b=2',
      cancel_url: `${paid.served.url}/docs`,
    });
    assert.equal(paid.stripe.requests.at(-1)?.headers['x-stripe-client-telemetry'], undefined);
  });

  it('POST /v1/billing/checkout applies only to the organisation that is signed in', async () => {
    const key = await paid.served.login('honest');
    const [issue] = await paid.served.issues(checkout, { key, body: { tier: 'scale', owner: 'victim' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'owner'], 'extra_forbidden']);
  });

  it('POST /v1/billing/checkout reuses the owner’s customer', async () => {
    const first = await paid.buy('regular', 'developer');
    await paid.stripe.cancel(first.subscription.id);
    const second = await paid.buy('regular', 'scale');
    assert.equal(lastForm()['customer'], first.subscription.customer);
    assert.equal(await paid.tierOf('regular'), 'scale');
    await paid.stripe.cancel(second.subscription.id);
    assert.equal(await paid.tierOf('regular'), 'free');
  });

  it('POST /v1/billing/checkout applies the later plan when two pages opened before payment are both paid', async () => {
    const pages = [await checkOut('twice', { tier: 'developer' }), await checkOut('twice', { tier: 'scale' })];
    for (const { body } of pages) await fetch(body.url, { method: 'POST', redirect: 'manual' });
    assert.equal(await paid.tierOf('twice'), 'scale');
  });

  it('POST /v1/billing/checkout creates one checkout for a repeated request, also after a provider failure', async () => {
    const request = { key: await paid.served.login('repeater'), body: { tier: 'scale' }, headers: { 'idempotency-key': 'one-page' } };
    paid.stripe.breakDown('hang_up');
    const first = await paid.served.call(checkout, request);
    const keys = paid.stripe.requests.slice(-2).map(({ headers }) => headers['idempotency-key']);
    assert.ok(keys[0] && keys[0] === keys[1], 'the provider gets the same idempotency key');
    assert.deepEqual((await paid.served.call(checkout, request)).body, first.body);
  });
});

describe('422', () => {
  it('POST /v1/billing/checkout answers 422 for an unknown plan with the plans for sale', async () => {
    const key = await paid.served.login('chooser');
    for (const tier of ['platinum', 'internal', 'free', '__proto__']) {
      const [issue] = await paid.served.issues(checkout, { key, body: { tier } });
      assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['body', 'tier'], 'literal_error', tier]);
      assert.equal(issue?.ctx['expected'], "'developer' or 'scale'");
    }
  });

  it('POST /v1/billing/checkout refuses invalid addresses with 422', async () => {
    const key = await paid.served.login('chooser');
    for (const success_url of ['javascript:alert(1)', '/thanks', 'file:///etc/passwd']) {
      const [issue] = await paid.served.issues(checkout, { key, body: { tier: 'scale', success_url } });
      assert.deepEqual(issue?.loc, ['body', 'success_url']);
    }
  });
});

describe('502 billing_provider_failed', () => {
  const refuse = async (): Promise<Awaited<ReturnType<BillingApp['served']['refuse']>>> =>
    paid.served.refuse(checkout, 'billing_provider_failed', { key: await paid.served.login('unlucky'), body: { tier: 'scale' } });

  it('POST /v1/billing/checkout answers 502 billing_provider_failed when the provider fails, without its message', async () => {
    warned.length = 0;
    paid.stripe.breakDown('error', 'error');
    const { reply, details } = await refuse();
    assert.deepEqual(details, {});
    const requestId = paid.stripe.requests.at(-1)?.requestId ?? '';
    for (const secret of [defaultSecretKey, 'unknown error', requestId, paid.stripe.url]) assert.ok(!reply.text.includes(secret));
    assert.ok(warned.join().includes(`StripeAPIError, status 500, request ${requestId}`), warned.join());
    assert.ok(!warned.join().includes(defaultSecretKey));
  });

  it('POST /v1/billing/checkout answers 502 billing_provider_failed when the provider disconnects or sends an invalid response', async () => {
    paid.stripe.breakDown('hang_up', 'hang_up');
    await refuse();
    paid.stripe.breakDown('nonsense');
    await refuse();
  });

  it('POST /v1/billing/checkout answers 502 billing_provider_failed when the provider refuses the key, also on a retry', async () => {
    const other = await startBillingApp({ environment: { BERTH_STRIPE_SECRET_KEY: 'sk_test_of_somebody_else' } });
    try {
      const { reply } = await other.served.refuse(checkout, 'billing_provider_failed', { body: { tier: 'scale' } });
      assert.ok(!reply.text.includes('sk_test'));
      assert.match(reply.text, /"retryable":false/);
    } finally {
      await other.close();
    }
  });
});

describe('409 plan_active', () => {
  it('POST /v1/billing/checkout answers 409 plan_active for an owner with a plan and points to the portal', async () => {
    await paid.buy('settled', 'developer');
    const { message } = await paid.served.refuse(checkout, 'plan_active', {
      key: await paid.served.login('settled'),
      body: { tier: 'scale' },
    });
    assert.match(message, /billing\/portal/);
  });
});

describe('503 billing_not_configured', () => {
  it('POST /v1/billing/checkout answers 503 billing_not_configured for every request when billing is not configured', async () => {
    const served = await startApp();
    try {
      for (const tier of ['scale', 'platinum']) await served.refuse(checkout, 'billing_not_configured', { body: { tier } });
    } finally {
      await served.close();
    }
  });
});
