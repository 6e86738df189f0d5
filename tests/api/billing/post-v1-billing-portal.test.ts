import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { billingPortal } from '@berth/contract';
import { startApp } from '../../harness.ts';
import { startBillingApp, type BillingApp } from '../../prepare/billing-app.ts';

let paid: BillingApp;
before(async () => {
  paid = await startBillingApp();
});
after(() => paid.close());

describe('200', () => {
  it('POST /v1/billing/portal returns a portal page whose changes update the owner’s plan', async () => {
    await paid.buy('tenant', 'developer');
    const { body } = await paid.served.call(billingPortal, {
      key: await paid.served.login('tenant'),
      body: { return_url: 'https://shop.example/back' },
    });
    const page = await (await fetch(body.url)).text();
    assert.match(page, /value="price_developer"/);
    assert.match(page, /https:\/\/shop\.example\/back/);
    const [, subscription = ''] = /value="(sub_\w+)"/.exec(page) ?? [];
    const press = (act: string, price = ''): Promise<unknown> =>
      fetch(body.url, { method: 'POST', body: new URLSearchParams({ subscription, act, price }) });
    await press('change', 'price_scale');
    assert.equal(await paid.tierOf('tenant'), 'scale');
    await press('fail');
    assert.equal(await paid.tierOf('tenant'), 'scale', 'the card is tried again');
    await press('renew');
    await press('cancel');
    assert.equal(await paid.tierOf('tenant'), 'free');
    assert.ok(paid.stripe.deliveries.every(({ status }) => status === 200));
  });

  it('POST /v1/billing/portal returns to this service by default', async () => {
    await paid.buy('returner', 'scale');
    await paid.served.call(billingPortal, { key: await paid.served.login('returner') });
    assert.equal(paid.stripe.requests.at(-1)?.form.get('return_url'), `${paid.served.url}/docs`);
  });
});

describe('409 no_subscription', () => {
  it('POST /v1/billing/portal answers 409 no_subscription for an owner without a subscription', async () => {
    await paid.buy('rich', 'scale');
    await paid.served.refuse(billingPortal, 'no_subscription', { key: await paid.served.login('poor') });
  });
});

describe('422', () => {
  it('POST /v1/billing/portal refuses an invalid address with 422', async () => {
    const [issue] = await paid.served.issues(billingPortal, { body: { return_url: 'javascript:alert(1)' } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'return_url'], 'url_scheme']);
  });
});

describe('502 billing_provider_failed', () => {
  it('POST /v1/billing/portal answers 502 billing_provider_failed when the provider fails', async () => {
    await paid.buy('unlucky', 'scale');
    paid.stripe.breakDown('error', 'error');
    const { details } = await paid.served.refuse(billingPortal, 'billing_provider_failed', { key: await paid.served.login('unlucky') });
    assert.deepEqual(details, {});
  });
});

describe('503 billing_not_configured', () => {
  it('POST /v1/billing/portal answers 503 billing_not_configured when billing is not configured', async () => {
    const served = await startApp();
    try {
      await served.refuse(billingPortal, 'billing_not_configured');
    } finally {
      await served.close();
    }
  });
});
