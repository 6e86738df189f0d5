import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SubscriptionChange, Notice, Status } from './notice.ts';
import { isLive, subscriberAfter, type Subscriber } from './subscriber.ts';

const stranger: Subscriber = { tier: 'free', customerId: null, subscriptionId: null, status: null, startedAt: null, eventAt: null };
const at = (second: number): Date => new Date(1_767_225_600_000 + second * 1000);
const lives = (tier: string, status: Status = 'active'): SubscriptionChange => ({ kind: 'lives', status, tier });
const ends = (status: Status = 'canceled'): SubscriptionChange => ({ kind: 'ends', status });
const paid = (tier: string | null, isNamed = false): SubscriptionChange => ({ kind: 'paid', tier, isNamed });
const failed: SubscriptionChange = { kind: 'payment_failed' };

interface TestEvent {
  second: number;
  change: SubscriptionChange;
  subscription?: string | null;
  startedAt?: number;
  customer?: string | null;
}

const toNotice = ({ second, change, subscription = 'sub_1', startedAt, customer = 'cus_1' }: TestEvent): Notice => ({
  eventId: `evt_${second}`,
  type: 'customer.subscription.updated',
  madeAt: at(second),
  owner: 'acme',
  customerId: customer,
  subscriptionId: subscription,
  startedAt: startedAt === undefined ? null : at(startedAt),
  change,
});

/** The subscriber after these events in this order, and which of them changed it. */
function hear(...auditTrail: TestEvent[]): { subscriber: Subscriber; applied: number[] } {
  let subscriber = stranger;
  const applied: number[] = [];
  for (const each of auditTrail) {
    const after = subscriberAfter(subscriber, toNotice(each), 'free');
    if (!after) continue;
    subscriber = after;
    applied.push(each.second);
  }
  return { subscriber, applied };
}
const tierAfter = (...auditTrail: TestEvent[]): string => hear(...auditTrail).subscriber.tier;

describe('a subscriber', () => {
  it('a subscriber has the plan of the subscription, its ids, and the time of the event', () => {
    const { subscriber } = hear({ second: 3, change: lives('scale'), startedAt: 1 });
    assert.deepEqual(subscriber, {
      tier: 'scale',
      customerId: 'cus_1',
      subscriptionId: 'sub_1',
      status: 'active',
      startedAt: at(1),
      eventAt: at(3),
    });
  });

  it('a subscriber falls back to the default plan when the subscription ends', () => {
    for (const status of ['canceled', 'unpaid', 'paused', 'incomplete_expired'] as const) {
      const { subscriber } = hear({ second: 1, change: lives('scale') }, { second: 2, change: ends(status) });
      assert.deepEqual([subscriber.tier, subscriber.status, subscriber.subscriptionId], ['free', status, 'sub_1']);
    }
  });

  it('a subscriber keeps the plan while a payment that failed is tried again', () => {
    const { subscriber } = hear({ second: 1, change: lives('scale') }, { second: 2, change: failed });
    assert.deepEqual([subscriber.tier, subscriber.status], ['scale', 'past_due']);
    const again = hear({ second: 1, change: lives('scale') }, { second: 2, change: failed }, { second: 3, change: paid(null) }).subscriber;
    assert.deepEqual([again.tier, again.status], ['scale', 'active']);
  });

  it('a subscriber gets no plan by a payment that failed', () => {
    assert.deepEqual(hear({ second: 1, change: failed }).subscriber, { ...stranger, customerId: 'cus_1', eventAt: at(1) });
  });

  it('a subscriber keeps what is known where an event omits it', () => {
    const { subscriber } = hear(
      { second: 1, change: lives('scale'), startedAt: 1 },
      { second: 2, change: lives('startup'), subscription: null, customer: null },
    );
    assert.deepEqual(
      [subscriber.tier, subscriber.customerId, subscriber.subscriptionId, subscriber.startedAt],
      ['startup', 'cus_1', 'sub_1', at(1)],
    );
  });

  it('a subscriber is a customer from the sign-up on, and has the plan once it is paid', () => {
    const { subscriber } = hear({ second: 1, change: { kind: 'signed_up' } });
    assert.deepEqual(subscriber, { ...stranger, customerId: 'cus_1', eventAt: at(1) });
  });
});

describe('an older event', () => {
  it('an older event of a subscription changes nothing', () => {
    assert.deepEqual(hear({ second: 5, change: ends() }, { second: 4, change: lives('scale') }).applied, [5]);
    assert.deepEqual(hear({ second: 5, change: lives('startup') }, { second: 4, change: lives('scale') }).applied, [5]);
  });

  it('two events of a subscription in the same second are both applied', () => {
    assert.equal(tierAfter({ second: 5, change: lives('startup') }, { second: 5, change: lives('scale') }), 'scale');
  });

  it('the beginning of a subscription in the second of its end is an older event', () => {
    assert.equal(tierAfter({ second: 5, change: ends() }, { second: 5, change: lives('scale') }), 'free');
    assert.equal(tierAfter({ second: 5, change: ends() }, { second: 6, change: lives('scale') }), 'scale');
  });

  it('events of a subscription have the same result, in whatever order and however often they arrive', () => {
    const story: fc.Arbitrary<TestEvent[]> = fc
      .array(
        fc.oneof(
          fc.constantFrom('developer', 'scale').map((tier) => lives(tier)),
          fc.constantFrom<Status>('canceled', 'unpaid').map(ends),
        ),
        { minLength: 1, maxLength: 6 },
      )
      .map((change) => change.map((each, second) => ({ second, change: each })));
    const shuffled = story.chain((auditTrail) =>
      fc.tuple(fc.constant(auditTrail), fc.shuffledSubarray([...auditTrail, ...auditTrail], { minLength: auditTrail.length * 2 })),
    );
    fc.assert(
      fc.property(shuffled, ([inOrder, anyhow]) => {
        assert.deepEqual(hear(...anyhow).subscriber, hear(...inOrder).subscriber);
      }),
    );
  });
});

describe('a second subscription', () => {
  const first: TestEvent = { second: 1, change: lives('developer'), subscription: 'sub_1', startedAt: 1 };
  const second: TestEvent = { second: 10, change: lives('scale'), subscription: 'sub_2', startedAt: 10 };

  it('a second subscription counts from when it begins', () => {
    const { subscriber } = hear(first, second);
    assert.deepEqual([subscriber.tier, subscriber.subscriptionId, subscriber.startedAt], ['scale', 'sub_2', at(10)]);
  });

  it('a second subscription is not undone by anything that happens to the first one afterwards', () => {
    const afterwards: TestEvent[] = [
      { ...first, second: 11 },
      { ...first, second: 12, change: ends('unpaid') },
      { ...first, second: 13, change: ends('canceled') },
      { second: 14, change: paid('developer') },
      { second: 15, change: paid('developer', true) },
      { second: 16, change: failed },
    ];
    const heard = hear(first, second, ...afterwards);
    assert.deepEqual(heard.applied, [1, 10]);
    assert.deepEqual([heard.subscriber.tier, heard.subscriber.subscriptionId, heard.subscriber.status], ['scale', 'sub_2', 'active']);
  });

  it('a second subscription applies its own events that are older than the end of the first', () => {
    assert.equal(
      tierAfter(first, second, { ...first, second: 20, change: ends() }, { ...second, second: 15, change: lives('startup') }),
      'startup',
    );
  });

  it('a second subscription that was never paid for takes nothing away', () => {
    const never: TestEvent = { second: 20, change: ends('incomplete_expired'), subscription: 'sub_2', startedAt: 5 };
    assert.deepEqual(hear(first, never).applied, [1]);
    const assigned = { ...stranger, tier: 'startup' };
    assert.equal(subscriberAfter(assigned, toNotice(never), 'free'), null);
  });

  it('a second subscription counts when the first is over, and its end is an end', () => {
    const over: TestEvent = { ...first, second: 5, change: ends() };
    assert.equal(tierAfter(first, over, second), 'scale');
    assert.equal(tierAfter(first, over, second, { ...second, second: 20, change: ends() }), 'free');
    assert.equal(tierAfter(first, over, { ...second, second: 20, change: ends() }, second), 'free', 'in the other order as well');
  });
});

describe('a paid invoice', () => {
  it('a paid invoice gives the plan where it is the first event of the subscription', () => {
    const { subscriber } = hear({ second: 1, change: paid('scale') });
    assert.deepEqual([subscriber.tier, subscriber.status, subscriber.subscriptionId], ['scale', 'active', 'sub_1']);
  });

  it('a paid invoice gives the plan back to an owner who had not paid', () => {
    assert.equal(
      tierAfter({ second: 1, change: lives('scale') }, { second: 2, change: ends('unpaid') }, { second: 3, change: paid('scale') }),
      'scale',
    );
  });

  it('a paid invoice of an earlier plan, paid late, changes nothing about the current plan', () => {
    assert.equal(tierAfter({ second: 1, change: lives('scale') }, { second: 2, change: paid('developer') }), 'scale');
  });

  it('a paid invoice that names its plan gives that plan', () => {
    assert.equal(tierAfter({ second: 1, change: lives('scale') }, { second: 2, change: paid('developer', true) }), 'developer');
  });

  it('a paid invoice without a plan changes nothing', () => {
    assert.deepEqual(hear({ second: 1, change: paid(null) }).applied, []);
  });

  it('a paid invoice does not bring back a subscription that is over', () => {
    const auditTrail: TestEvent[] = [
      { second: 1, change: lives('scale') },
      { second: 2, change: ends() },
      { second: 3, change: paid('scale', true) },
      { second: 4, change: failed },
    ];
    assert.deepEqual(hear(...auditTrail).applied, [1, 2]);
  });
});

describe('a subscription', () => {
  it('a subscription is live while it is active, in trial, or a payment is tried again', () => {
    const states: (Status | null)[] = ['active', 'trialing', 'past_due', 'unpaid', 'paused', 'canceled', 'incomplete_expired', null];
    assert.deepEqual(states.filter(isLive), ['active', 'trialing', 'past_due']);
  });
});
