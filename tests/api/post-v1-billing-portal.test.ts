import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { billingPortal } from '@berth/contract';
import { startApp } from '../harness.ts';
import { startSelling, type Selling } from '../selling.ts';

let paid: Selling;
before(async () => {
  paid = await startSelling();
});
after(() => paid.close());

describe('200', () => {
  it('answers with a page where the plan is changed and ended, which the owner’s plan follows', async () => {
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

  it('leads back to this service where nothing else is said', async () => {
    await paid.buy('returner', 'scale');
    await paid.served.call(billingPortal, { key: await paid.served.login('returner') });
    assert.equal(paid.stripe.asked.at(-1)?.form.get('return_url'), `${paid.served.url}/docs`);
  });
});

describe('409 no_subscription', () => {
  it('is told to an owner who has never bought anything, whatever others have', async () => {
    await paid.buy('rich', 'scale');
    await paid.served.refuse(billingPortal, 'no_subscription', { key: await paid.served.login('poor') });
  });
});

describe('422', () => {
  it('refuses an address that is no page', async () => {
    const [fault] = await paid.served.faults(billingPortal, { body: { return_url: 'javascript:alert(1)' } });
    assert.deepEqual([fault?.loc, fault?.type], [['body', 'return_url'], 'url_scheme']);
  });
});

describe('502 billing_provider_failed', () => {
  it('tells that the provider failed', async () => {
    await paid.buy('unlucky', 'scale');
    paid.stripe.breakDown('error', 'error');
    const { details } = await paid.served.refuse(billingPortal, 'billing_provider_failed', { key: await paid.served.login('unlucky') });
    assert.deepEqual(details, {});
  });
});

describe('503 billing_not_configured', () => {
  it('is told where nothing is sold', async () => {
    const served = await startApp();
    try {
      await served.refuse(billingPortal, 'billing_not_configured');
    } finally {
      await served.close();
    }
  });
});
