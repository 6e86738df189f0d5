import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ValidationError } from '@berth/contract';
import fc from 'fast-check';
import { loadTiers, type Tiers } from '../owners/owners.ts';
import { parseEvent, toNotice, type IgnoreReason, type Notice } from './notice.ts';
import { checkoutOf, eventOf, invoiceOf, subscriptionOf } from '../../../testing/accounts/billing.ts';

const madeAt = new Date('2026-03-01T12:00:00.000Z');
const startedAt = new Date('2026-03-01T11:59:58.000Z');
const tiers: Tiers = {
  ...loadTiers(null, { billing: true }),
  prices: new Map([
    ['price_dev', 'developer'],
    ['price_dev_yearly', 'developer'],
    ['price_scale', 'scale'],
  ]),
};
const read = (type: string, object: unknown): Notice | IgnoreReason =>
  toNotice(parseEvent(JSON.stringify(eventOf(type, object, { id: 'evt_1', madeAt }))), tiers);
const newsIn = (type: string, object: unknown): unknown => {
  const notice = read(type, object);
  return typeof notice === 'string' ? notice : notice.change;
};
const updated = 'customer.subscription.updated';

describe('a subscription’s event', () => {
  it('a subscription’s event says whose it is, what it is about, and since when', () => {
    assert.deepEqual(read(updated, subscriptionOf({ owner: 'acme', tier: 'scale', startedAt })), {
      eventId: 'evt_1',
      type: updated,
      madeAt,
      owner: 'acme',
      customerId: 'cus_1',
      subscriptionId: 'sub_1',
      startedAt,
      change: { kind: 'lives', status: 'active', tier: 'scale' },
    });
  });

  for (const status of ['active', 'trialing', 'past_due'])
    it(`a subscription’s event gives the plan while it is ${status}`, () => {
      assert.deepEqual(newsIn(updated, subscriptionOf({ owner: 'acme', tier: 'scale', status })), { kind: 'lives', status, tier: 'scale' });
    });

  for (const status of ['unpaid', 'canceled', 'incomplete_expired', 'paused'])
    it(`a subscription’s event takes the plan when it is ${status}, whatever plan that was`, () => {
      assert.deepEqual(newsIn(updated, subscriptionOf({ owner: 'acme', price: 'price_forgotten', status })), { kind: 'ends', status });
    });

  it('a subscription’s event takes the plan when the subscription is deleted, whatever its state says', () => {
    assert.deepEqual(newsIn('customer.subscription.deleted', subscriptionOf({ owner: 'acme', tier: 'scale', status: 'active' })), {
      kind: 'ends',
      status: 'canceled',
    });
  });

  for (const status of ['incomplete', 'a state of next year'])
    it(`a subscription’s event says nothing while it is ${status}`, () =>
      assert.equal(newsIn(updated, subscriptionOf({ owner: 'acme', tier: 'scale', status })), 'status'));

  it('a subscription’s event says nothing without a state', () => {
    const { status: _, ...stateless } = subscriptionOf({ owner: 'acme', tier: 'scale' });
    assert.equal(newsIn(updated, stateless), 'status');
  });
});

describe('the plan', () => {
  const tierOf = (object: unknown): unknown => {
    const change = newsIn(updated, object);
    return typeof change === 'object' && change !== null && 'tier' in change ? change.tier : change;
  };

  it('the plan of an event is the one that the metadata names, before any price', () => {
    assert.equal(tierOf(subscriptionOf({ owner: 'acme', tier: 'startup', price: 'price_scale' })), 'startup');
  });

  it('the plan of an event is that of the price where the metadata names no known plan', () => {
    assert.equal(tierOf(subscriptionOf({ owner: 'acme', price: 'price_scale' })), 'scale');
    for (const tier of ['platinum', '__proto__', 'constructor', ''])
      assert.equal(tierOf(subscriptionOf({ owner: 'acme', tier, price: 'price_dev_yearly' })), 'developer');
  });

  it('the plan of an event is that of the one price which is a plan’s, among others that are none', () => {
    const { items, ...rest } = subscriptionOf({ owner: 'acme', price: 'price_dev' });
    const data = [...(items as { data: unknown[] }).data, { price: { id: 'price_of_seats' } }, { price: null }, null, 'x'];
    assert.equal(tierOf({ ...rest, items: { data } }), 'developer');
  });

  it('the plan of an event is not derived from two prices of two plans, nor from none', () => {
    const both = { data: [{ price: 'price_dev' }, { price: 'price_scale' }] };
    assert.equal(tierOf({ ...subscriptionOf({ owner: 'acme' }), items: both }), 'tier');
    assert.equal(tierOf(subscriptionOf({ owner: 'acme', price: 'price_forgotten' })), 'tier');
    assert.equal(tierOf({ ...subscriptionOf({ owner: 'acme' }), items: undefined }), 'tier');
  });
});

describe('a checkout’s event', () => {
  const completed = 'checkout.session.completed';

  it('a checkout’s event gives the plan that was chosen, with customer and subscription', () => {
    const notice = read(completed, checkoutOf({ owner: 'acme', tier: 'scale', subscription: 'sub_7', customer: 'cus_7' }));
    assert.ok(typeof notice !== 'string');
    assert.deepEqual([notice.subscriptionId, notice.customerId, notice.startedAt], ['sub_7', 'cus_7', madeAt]);
    assert.deepEqual(notice.change, { kind: 'lives', status: 'active', tier: 'scale' });
  });

  it('a checkout’s event gives nothing while the payment is under way', () => {
    assert.deepEqual(newsIn(completed, checkoutOf({ owner: 'acme', tier: 'scale', paymentStatus: 'unpaid' })), { kind: 'signed_up' });
  });

  it('a checkout’s event leaves the plan to the subscription’s events where it names none', () => {
    assert.deepEqual(newsIn(completed, checkoutOf({ owner: 'acme' })), { kind: 'signed_up' });
  });

  it('a checkout’s event may have customers and subscriptions that are expanded objects', () => {
    const notice = read(completed, {
      ...checkoutOf({ owner: 'acme', tier: 'scale' }),
      customer: { id: 'cus_9' },
      subscription: { id: 'sub_9' },
    });
    assert.ok(typeof notice !== 'string');
    assert.deepEqual([notice.subscriptionId, notice.customerId], ['sub_9', 'cus_9']);
  });
});

describe('an invoice’s event', () => {
  it('an invoice’s event finds its owner and its subscription where either version of the API has them', () => {
    const { parent, ...old } = invoiceOf({ owner: 'acme', subscription: 'sub_5', prices: ['price_scale'] });
    const { subscription_details } = parent as { subscription_details: { metadata: unknown } };
    for (const object of [
      { ...old, parent },
      { ...old, subscription: 'sub_5', subscription_details: { metadata: subscription_details.metadata } },
    ]) {
      const notice = read('invoice.paid', object);
      assert.ok(typeof notice !== 'string');
      assert.deepEqual([notice.owner, notice.subscriptionId], ['acme', 'sub_5']);
      assert.deepEqual(notice.change, { kind: 'paid', tier: 'scale', isNamed: false });
    }
  });

  it('an invoice’s event names a plan where the metadata has one', () => {
    assert.deepEqual(newsIn('invoice.paid', invoiceOf({ owner: 'acme', tier: 'scale', prices: ['price_dev'] })), {
      kind: 'paid',
      tier: 'scale',
      isNamed: true,
    });
  });

  it('an invoice’s event gives the plan that is paid for, and not the one that money is given back for', () => {
    assert.deepEqual(newsIn('invoice.paid', invoiceOf({ owner: 'acme', prices: ['-price_dev', 'price_scale'] })), {
      kind: 'paid',
      tier: 'scale',
      isNamed: false,
    });
  });

  it('an invoice’s event reads prices of lines in their previous form', () => {
    const lines = { data: [{ amount: 1, price: { id: 'price_scale' } }] };
    assert.deepEqual(newsIn('invoice.paid', { ...invoiceOf({ owner: 'acme' }), lines }), { kind: 'paid', tier: 'scale', isNamed: false });
  });

  it('an invoice’s event may name no plan, and still report a failed payment', () => {
    assert.deepEqual(newsIn('invoice.paid', invoiceOf({ owner: 'acme' })), { kind: 'paid', tier: null, isNamed: false });
    assert.deepEqual(newsIn('invoice.payment_failed', invoiceOf({ owner: 'acme' })), { kind: 'payment_failed' });
  });
});

describe('an event that says nothing', () => {
  it('an event of an unhandled type says nothing', () => {
    for (const type of ['customer.created', 'constructor', 'toString', '__proto__'])
      assert.equal(newsIn(type, subscriptionOf({ owner: 'acme', tier: 'scale' })), 'type');
  });

  for (const [what, owner] of Object.entries({
    'a list': ['acme'],
    'an object': { acme: 1 },
    'a number': 7,
    nothing: null,
    'an empty text': '',
    'a prototype': '__proto__',
    'ten kilobytes': 'a'.repeat(10_000),
    'a path': '../acme',
    'a NUL': 'ac\u0000me',
    'half a character': 'ac\ud800me',
  }))
    it(`an event with ${what} for an owner says nothing`, () =>
      assert.equal(newsIn(updated, { ...subscriptionOf({ tier: 'scale' }), metadata: { owner, tier: 'scale' } }), 'owner'));

  for (const [what, metadata] of Object.entries({ 'no metadata': undefined, 'a list': [], 'a text': 'owner', 'metadata of nothing': null }))
    it(`an event with ${what} where its metadata should be says nothing`, () =>
      assert.equal(newsIn(updated, { ...subscriptionOf({}), metadata }), 'owner'));

  it('an event with its owner in the prototype says nothing', () => {
    const text = JSON.stringify(eventOf(updated, subscriptionOf({ tier: 'scale' }), { madeAt })).replace(
      '"metadata":{',
      '"metadata":{"__proto__":{"owner":"acme"},',
    );
    assert.equal(toNotice(parseEvent(text), tiers), 'owner');
    assert.equal(({} as { owner?: unknown }).owner, undefined);
  });
});

describe('a body', () => {
  const refused = (text: string): void => {
    assert.throws(() => parseEvent(text), ValidationError);
  };

  it('a body that is no event is refused', () => {
    const event = eventOf(updated, subscriptionOf({ owner: 'acme' }), { madeAt });
    const wrong: Record<string, unknown>[] = [
      { id: '' },
      { id: 7 },
      { id: 'evt\u0000' },
      { id: 'e'.repeat(256) },
      { type: '' },
      { type: 'a'.repeat(256) },
      { created: '1' },
      { created: 1.5 },
      { created: -1 },
      { created: 1e300 },
      { data: null },
      { data: {} },
      { data: { object: 'sub_1' } },
      { data: { object: [] } },
    ];
    for (const fault of wrong) refused(JSON.stringify({ ...event, ...fault }));
    for (const text of ['', 'null', '[]', '7', '"event"', '{', '{}', '\ufeff{}']) refused(text);
  });

  it('a body of any JSON is read as an event, or refused', () => {
    const subject = fc.dictionary(
      fc.constantFrom('id', 'metadata', 'items', 'lines', 'parent', 'customer', 'status', 'created', '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(subject, fc.jsonValue()),
        fc.constantFrom(updated, 'invoice.paid', 'checkout.session.completed'),
        (object, type) => {
          try {
            toNotice(parseEvent(JSON.stringify(eventOf(type, object, { madeAt }))), tiers);
          } catch (error) {
            assert.ok(error instanceof ValidationError);
          }
        },
      ),
    );
  });
});
