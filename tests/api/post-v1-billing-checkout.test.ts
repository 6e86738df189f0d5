import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { checkout } from '@berth/contract';
import { silentLog, type Log } from '../../packages/server/src/lib/log.ts';
import { startApp, type Reply } from '../harness.ts';
import { startSelling, type Selling } from '../selling.ts';
import { defaultSecretKey } from '../stripe-stand-in.ts';

const warned: string[] = [];
const log: Log = {
  ...silentLog,
  warn: (facts) => void warned.push('err' in facts && facts.err instanceof Error ? facts.err.message : ''),
  child: () => log,
};
let paid: Selling;
before(async () => {
  paid = await startSelling({ log });
});
after(() => paid.close());

const order = async (owner: string, body: Record<string, unknown>): Promise<Reply<{ url: string; id: string }>> =>
  paid.served.call(checkout, { key: await paid.served.login(owner), body });
/** What Stripe was asked last. */
const asked = (): Record<string, string> => Object.fromEntries(paid.stripe.asked.at(-1)?.form ?? []);

describe('200', () => {
  it('answers with a page where the plan is paid, which then is the owner’s', async () => {
    const { body } = await order('buyer', {
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

  it('tells the provider whose it is, so that its events do', async () => {
    await order('teller', { tier: 'developer', success_url: 'https://shop.example/?a=1&b=2' });
    assert.deepEqual(asked(), {
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
    assert.equal(paid.stripe.asked.at(-1)?.headers['x-stripe-client-telemetry'], undefined);
  });

  it('is for the organisation that is signed in, and for no other', async () => {
    const key = await paid.served.login('honest');
    const [fault] = await paid.served.faults(checkout, { key, body: { tier: 'scale', owner: 'victim' } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'owner'], 'extra_forbidden']);
  });

  it('is for the customer that the owner is already', async () => {
    const first = await paid.buy('regular', 'developer');
    await paid.stripe.cancel(first.subscription.id);
    const second = await paid.buy('regular', 'scale');
    assert.equal(asked()['customer'], first.subscription.customer);
    assert.equal(await paid.tierOf('regular'), 'scale');
    await paid.stripe.cancel(second.subscription.id);
    assert.equal(await paid.tierOf('regular'), 'free');
  });

  it('is paid twice only by who has opened two pages before paying, and then the later plan counts', async () => {
    const pages = [await order('twice', { tier: 'developer' }), await order('twice', { tier: 'scale' })];
    for (const { body } of pages) await fetch(body.url, { method: 'POST', redirect: 'manual' });
    assert.equal(await paid.tierOf('twice'), 'scale');
  });

  it('opens one page when the request is repeated, also where the provider failed in between', async () => {
    const request = { key: await paid.served.login('repeater'), body: { tier: 'scale' }, headers: { 'idempotency-key': 'one-page' } };
    paid.stripe.breakDown('hang_up');
    const first = await paid.served.call(checkout, request);
    const keys = paid.stripe.asked.slice(-2).map(({ headers }) => headers['idempotency-key']);
    assert.ok(keys[0] && keys[0] === keys[1], 'the provider is told that it is the same request');
    assert.deepEqual((await paid.served.call(checkout, request)).body, first.body);
  });
});

describe('422', () => {
  it('names the plans that are for sale', async () => {
    const key = await paid.served.login('chooser');
    for (const tier of ['platinum', 'internal', 'free', '__proto__']) {
      const [fault] = await paid.served.faults(checkout, { key, body: { tier } });
      assert.deepEqual([fault?.loc, fault?.type, fault?.input], [['body', 'tier'], 'literal_error', tier]);
      assert.equal(fault?.ctx['expected'], "'developer' or 'scale'");
    }
  });

  it('refuses addresses that are no pages', async () => {
    const key = await paid.served.login('chooser');
    for (const success_url of ['javascript:alert(1)', '/thanks', 'file:///etc/passwd']) {
      const [fault] = await paid.served.faults(checkout, { key, body: { tier: 'scale', success_url } });
      assert.deepEqual(fault?.loc, ['body', 'success_url']);
    }
  });
});

describe('502 billing_provider_failed', () => {
  const refuse = async (): Promise<Awaited<ReturnType<Selling['served']['refuse']>>> =>
    paid.served.refuse(checkout, 'billing_provider_failed', { key: await paid.served.login('unlucky'), body: { tier: 'scale' } });

  it('tells that the provider failed, and nothing of what it said', async () => {
    warned.length = 0;
    paid.stripe.breakDown('error', 'error');
    const { reply, details } = await refuse();
    assert.deepEqual(details, {});
    const requestId = paid.stripe.asked.at(-1)?.requestId ?? '';
    for (const secret of [defaultSecretKey, 'unknown error', requestId, paid.stripe.url]) assert.ok(!reply.text.includes(secret));
    assert.ok(warned.join().includes(`StripeAPIError, status 500, request ${requestId}`), warned.join());
    assert.ok(!warned.join().includes(defaultSecretKey));
  });

  it('is told of a provider that breaks off, or that talks nonsense', async () => {
    paid.stripe.breakDown('hang_up', 'hang_up');
    await refuse();
    paid.stripe.breakDown('nonsense');
    await refuse();
  });

  it('is told of a key that the provider does not take, which a repetition does not help', async () => {
    const other = await startSelling({ environment: { BERTH_STRIPE_SECRET_KEY: 'sk_test_of_somebody_else' } });
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
  it('is told to who has a plan already, and where to change it', async () => {
    await paid.buy('settled', 'developer');
    const { message } = await paid.served.refuse(checkout, 'plan_active', {
      key: await paid.served.login('settled'),
      body: { tier: 'scale' },
    });
    assert.match(message, /billing\/portal/);
  });
});

describe('503 billing_not_configured', () => {
  it('is told where nothing is sold, whatever is asked for', async () => {
    const served = await startApp();
    try {
      for (const tier of ['scale', 'platinum']) await served.refuse(checkout, 'billing_not_configured', { body: { tier } });
    } finally {
      await served.close();
    }
  });
});
