import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { billingWebhook, getUsage, listAudit, type ReplyOf } from '@berth/contract';
import { eventOf, invoiceOf, signatureOf, subscriptionOf, type StripeEvent } from '../../../packages/server/testing/accounts/billing.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { startApp, type Reply, type TestApp } from '../../harness.ts';
import { startBillingApp, writePlans, type BillingApp } from '../../prepare/billing-app.ts';
import { defaultWebhookSecret as secret } from '../../services/stripe-stand-in.ts';

const clock = new ManualClock(new Date('2026-03-01T12:00:00.000Z'));
let paid: BillingApp;
before(async () => {
  paid = await startBillingApp({ clock });
});
after(() => paid.close());

type Received = ReplyOf<typeof billingWebhook>;
const applied: Received = { received: true, ignored: false, duplicate: false };
const ignored: Received = { received: true, ignored: true, duplicate: false };
const duplicate: Received = { received: true, ignored: false, duplicate: true };

const eventFor = (owner: string, tier: string, { type = 'customer.subscription.updated', seconds = 0 } = {}): StripeEvent =>
  eventOf(type, subscriptionOf({ owner, tier }), { madeAt: new Date(clock.now().getTime() + seconds * 1000) });
const post = (text: string, headers: Record<string, string> = {}): Promise<Reply<Received>> =>
  paid.served.call(billingWebhook, { rawBody: text, headers });
const signed = (text: string, by = secret, at = clock.now()): Record<string, string> => ({
  'stripe-signature': signatureOf(text, { secret: by, at }),
});
async function send(event: StripeEvent): Promise<Received> {
  const text = JSON.stringify(event);
  const { status, body } = await post(text, signed(text));
  assert.equal(status, 200);
  return body;
}

describe('200', () => {
  it('POST /v1/billing-provider/webhook applies a signed event before the owner’s next call', async () => {
    const key = await paid.served.ownerKey('swift');
    assert.equal((await paid.served.call(getUsage, { key })).body.tier, 'free');
    assert.deepEqual(await send(eventFor('swift', 'scale')), applied);
    assert.equal((await paid.served.call(getUsage, { key })).body.tier, 'scale');
  });

  it('POST /v1/billing-provider/webhook applies Stripe events for a bought, paid, unpaid and cancelled plan', async () => {
    const { deliveries, subscription } = await paid.buy('whole', 'scale');
    const types = deliveries.map(({ event, status, body }) => [event.type, status, (body as Received).ignored]);
    assert.deepEqual(types, [
      ['customer.created', 200, true],
      ['customer.subscription.created', 200, true],
      ['invoice.paid', 200, false],
      ['customer.subscription.updated', 200, false],
      ['checkout.session.completed', 200, false],
    ]);
    const { id } = subscription;
    clock.advance(30 * 86_400_000);
    await paid.stripe.failPayment(id);
    assert.equal(await paid.tierOf('whole'), 'scale');
    clock.advance(86_400_000);
    await paid.stripe.failPayment(id, { forGood: true });
    assert.equal(await paid.tierOf('whole'), 'free');
    clock.advance(86_400_000);
    await paid.stripe.renew(id);
    assert.equal(await paid.tierOf('whole'), 'scale');
    clock.advance(86_400_000);
    await paid.stripe.cancel(id);
    assert.equal(await paid.tierOf('whole'), 'free');
    const { body } = await paid.served.call(listAudit, { query: { owner: 'whole', actor: 'payment_provider' } });
    assert.deepEqual(
      body.toReversed().map(({ action, details }) => (action === 'tier.changed' ? details['to'] : action)),
      ['scale', 'billing.payment_failed', 'billing.payment_failed', 'free', 'scale', 'free'],
    );
  });

  it('POST /v1/billing-provider/webhook applies each event once, however often it is delivered', async () => {
    const event = eventFor('often', 'scale');
    const replies = await Promise.all(Array.from({ length: 5 }, () => send(event)));
    assert.deepEqual(
      replies.map((reply) => reply.duplicate).sort((one, other) => Number(one) - Number(other)),
      [false, true, true, true, true],
    );
    clock.advance(1000);
    await send(eventFor('often', 'developer'));
    assert.deepEqual(await send(event), duplicate);
    assert.equal(await paid.tierOf('often'), 'developer');
  });

  it('POST /v1/billing-provider/webhook ends with the state of the newest event in any order', async () => {
    const events = ['developer', 'free', 'scale'].map((tier, seconds) => eventFor('shuffled', tier, { seconds }));
    assert.deepEqual(await Promise.all(events.toReversed().map(send)).then((replies) => replies.filter((reply) => reply.duplicate)), []);
    assert.equal(await paid.tierOf('shuffled'), 'scale');
    assert.deepEqual(await send(eventFor('shuffled', 'developer', { seconds: -3700 })), ignored);
    assert.equal(await paid.tierOf('shuffled'), 'scale');
  });

  it('POST /v1/billing-provider/webhook accepts one of several signatures and five minutes of clock skew', async () => {
    for (const seconds of [-300, 300]) {
      const text = JSON.stringify(eventFor(`tolerant${seconds}`, 'scale'));
      const at = new Date(clock.now().getTime() + seconds * 1000);
      const [t, right] = signatureOf(text, { secret, at }).split(',');
      const [, wrong] = signatureOf(text, { secret: 'whsec_of_before', at }).split(',');
      assert.deepEqual((await post(text, { 'stripe-signature': `${t},${wrong},${right}` })).body, applied);
    }
  });

  it('POST /v1/billing-provider/webhook ignores unknown event types and events without an owner', async () => {
    const hostile = [['victim'], '__proto__', null, 'x'.repeat(10_000), { toString: 'victim' }].map((owner) => ({
      ...subscriptionOf({}),
      metadata: { owner, tier: 'scale' },
    }));
    for (const object of [...hostile, {}, { metadata: 'victim' }])
      assert.deepEqual(await send(eventOf('customer.subscription.updated', object, { madeAt: clock.now() })), ignored);
    assert.deepEqual(await send(eventFor('victim', 'scale', { type: 'payment_intent.succeeded' })), ignored);
    assert.equal(await paid.tierOf('victim'), 'free');
  });

  it('POST /v1/billing-provider/webhook keeps the plan when a payment fails', async () => {
    await send(eventFor('late', 'scale'));
    assert.deepEqual(await send(eventOf('invoice.payment_failed', invoiceOf({ owner: 'late' }), { madeAt: clock.now() })), applied);
    assert.equal(await paid.tierOf('late'), 'scale');
  });

  it('POST /v1/billing-provider/webhook accepts unsigned events on a loopback-only service without a secret', async () => {
    const { file, folder } = writePlans();
    const served = await startApp({ clock, environment: { BERTH_TIERS_FILE: file } });
    try {
      const reply = await served.call(billingWebhook, { rawBody: JSON.stringify(eventFor('trusted', 'scale')) });
      assert.deepEqual(reply.body, applied);
      assert.equal((await served.call(getUsage, { key: await served.ownerKey('trusted') })).body.tier, 'scale');
    } finally {
      await served.close();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('400 invalid_signature', () => {
  const refused = async (text: string, headers?: Record<string, string>): Promise<void> => {
    await paid.served.refuse(billingWebhook, 'invalid_signature', { rawBody: text, ...(headers ? { headers } : {}) });
  };

  it('POST /v1/billing-provider/webhook answers 400 invalid_signature for every wrong, old or altered signature, and changes no plan', async () => {
    const text = JSON.stringify(eventFor('forged', 'scale'));
    await refused(text);
    await refused(text, { 'stripe-signature': '' });
    await refused(text, { 'stripe-signature': 't=1,v1=00' });
    await refused(text, signed(text, 'whsec_of_mallory'));
    await refused(text.replace('"scale"', '"Scale"'), signed(text));
    await refused(JSON.stringify(JSON.parse(text), null, 1), signed(text));
    for (const seconds of [-301, 301]) await refused(text, signed(text, secret, new Date(clock.now().getTime() + seconds * 1000)));
    assert.equal(await paid.tierOf('forged'), 'free');
  });
});

describe('422', () => {
  const issuesOf = async (text: string) =>
    (await paid.served.issues(billingWebhook, { rawBody: text, headers: signed(text) })).map(({ loc, type }) => [...loc, type].join(' '));

  it('POST /v1/billing-provider/webhook answers 422 for a signed body that is not an event, with the field that is wrong', async () => {
    for (const text of ['null', '[]', '7']) assert.deepEqual(await issuesOf(text), ['body dict_type']);
    assert.deepEqual(await issuesOf('{"id":"evt_1"'), ['body json_invalid']);
    assert.deepEqual(await issuesOf('{}'), ['body id missing', 'body type missing', 'body created missing', 'body data missing']);
    assert.deepEqual(await issuesOf(JSON.stringify({ ...eventFor('odd', 'scale'), created: 'now' })), ['body created int_parsing']);
  });

  it('POST /v1/billing-provider/webhook answers 422 for an event of more than five minutes in the future, so that none stops the changes of its owner', async () => {
    const early = JSON.stringify(eventFor('punctual', 'scale', { seconds: 301 }));
    assert.deepEqual(await issuesOf(early), ['body created value_error']);
    assert.deepEqual(await send(eventFor('punctual', 'developer')), applied);
    assert.deepEqual(await send(eventFor('punctual', 'scale', { seconds: 300 })), applied);
    assert.equal(await paid.tierOf('punctual'), 'scale');
  });
});

describe('503 billing_not_configured', () => {
  it('POST /v1/billing-provider/webhook answers 503 billing_not_configured on a reachable service without a secret, and changes no plan', async () => {
    const served = await startApp({ clock, environment: { BERTH_PUBLIC_URL: 'https://berth.example' } });
    try {
      const rawBody = JSON.stringify(eventFor('outside', 'scale'));
      await served.refuse(billingWebhook, 'billing_not_configured', { rawBody });
      await served.refuse(billingWebhook, 'billing_not_configured', { rawBody, headers: signed(rawBody) });
      assert.notEqual((await served.call(getUsage, { key: await served.ownerKey('outside') })).body.tier, 'scale');
    } finally {
      await served.close();
    }
  });

  it('POST /v1/billing-provider/webhook accepts unsigned events without a secret when the operator allows them', async () => {
    const allowed = { BERTH_PUBLIC_URL: 'https://berth.example', BERTH_ALLOW_UNSIGNED_WEBHOOKS: '1' };
    const served: TestApp = await startApp({ clock, environment: allowed });
    try {
      assert.deepEqual((await served.call(billingWebhook, { rawBody: JSON.stringify(eventFor('allowed', 'scale')) })).body, applied);
    } finally {
      await served.close();
    }
  });
});
