import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { News, Notice, Status } from './notice.ts';
import { isLive, subscriberAfter, type Subscriber } from './subscriber.ts';

const stranger: Subscriber = { tier: 'free', customerId: null, subscriptionId: null, status: null, startedAt: null, eventAt: null };
const at = (second: number): Date => new Date(1_767_225_600_000 + second * 1000);
const lives = (tier: string, status: Status = 'active'): News => ({ kind: 'lives', status, tier });
const ends = (status: Status = 'canceled'): News => ({ kind: 'ends', status });
const paid = (tier: string | null, isNamed = false): News => ({ kind: 'paid', tier, isNamed });
const failed: News = { kind: 'payment_failed' };

interface Told {
  second: number;
  news: News;
  subscription?: string | null;
  startedAt?: number;
  customer?: string | null;
}

const noticeOf = ({ second, news, subscription = 'sub_1', startedAt, customer = 'cus_1' }: Told): Notice => ({
  eventId: `evt_${second}`,
  type: 'customer.subscription.updated',
  madeAt: at(second),
  owner: 'acme',
  customerId: customer,
  subscriptionId: subscription,
  startedAt: startedAt === undefined ? null : at(startedAt),
  news,
});

/** The subscriber after these events in this order, and which of them changed it. */
function hear(...told: Told[]): { subscriber: Subscriber; applied: number[] } {
  let subscriber = stranger;
  const applied: number[] = [];
  for (const each of told) {
    const after = subscriberAfter(subscriber, noticeOf(each), 'free');
    if (!after) continue;
    subscriber = after;
    applied.push(each.second);
  }
  return { subscriber, applied };
}
const tierAfter = (...told: Told[]): string => hear(...told).subscriber.tier;

describe('a subscriber', () => {
  it('has the plan of the subscription, its ids, and is as new as the news', () => {
    const { subscriber } = hear({ second: 3, news: lives('scale'), startedAt: 1 });
    assert.deepEqual(subscriber, {
      tier: 'scale',
      customerId: 'cus_1',
      subscriptionId: 'sub_1',
      status: 'active',
      startedAt: at(1),
      eventAt: at(3),
    });
  });

  it('falls back to the default plan when the subscription ends', () => {
    for (const status of ['canceled', 'unpaid', 'paused', 'incomplete_expired'] as const) {
      const { subscriber } = hear({ second: 1, news: lives('scale') }, { second: 2, news: ends(status) });
      assert.deepEqual([subscriber.tier, subscriber.status, subscriber.subscriptionId], ['free', status, 'sub_1']);
    }
  });

  it('keeps the plan while a payment that failed is tried again', () => {
    const { subscriber } = hear({ second: 1, news: lives('scale') }, { second: 2, news: failed });
    assert.deepEqual([subscriber.tier, subscriber.status], ['scale', 'past_due']);
    const again = hear({ second: 1, news: lives('scale') }, { second: 2, news: failed }, { second: 3, news: paid(null) }).subscriber;
    assert.deepEqual([again.tier, again.status], ['scale', 'active']);
  });

  it('has no plan by a payment that failed', () => {
    assert.deepEqual(hear({ second: 1, news: failed }).subscriber, { ...stranger, customerId: 'cus_1', eventAt: at(1) });
  });

  it('keeps what is known where an event does not tell it', () => {
    const { subscriber } = hear(
      { second: 1, news: lives('scale'), startedAt: 1 },
      { second: 2, news: lives('startup'), subscription: null, customer: null },
    );
    assert.deepEqual(
      [subscriber.tier, subscriber.customerId, subscriber.subscriptionId, subscriber.startedAt],
      ['startup', 'cus_1', 'sub_1', at(1)],
    );
  });

  it('is a customer from the sign-up on, and has the plan once it is paid', () => {
    const { subscriber } = hear({ second: 1, news: { kind: 'signed_up' } });
    assert.deepEqual(subscriber, { ...stranger, customerId: 'cus_1', eventAt: at(1) });
  });
});

describe('an older event', () => {
  it('changes nothing', () => {
    assert.deepEqual(hear({ second: 5, news: ends() }, { second: 4, news: lives('scale') }).applied, [5]);
    assert.deepEqual(hear({ second: 5, news: lives('startup') }, { second: 4, news: lives('scale') }).applied, [5]);
  });

  it('is one that is older by a second: of two in the same one both count', () => {
    assert.equal(tierAfter({ second: 5, news: lives('startup') }, { second: 5, news: lives('scale') }), 'scale');
  });

  it('is also the beginning of what has ended in the same second', () => {
    assert.equal(tierAfter({ second: 5, news: ends() }, { second: 5, news: lives('scale') }), 'free');
    assert.equal(tierAfter({ second: 5, news: ends() }, { second: 6, news: lives('scale') }), 'scale');
  });

  it('never makes another end of it, in whatever order all arrive', () => {
    const story: fc.Arbitrary<Told[]> = fc
      .array(
        fc.oneof(
          fc.constantFrom('developer', 'scale').map((tier) => lives(tier)),
          fc.constantFrom<Status>('canceled', 'unpaid').map(ends),
        ),
        { minLength: 1, maxLength: 6 },
      )
      .map((news) => news.map((each, second) => ({ second, news: each })));
    const shuffled = story.chain((told) =>
      fc.tuple(fc.constant(told), fc.shuffledSubarray([...told, ...told], { minLength: told.length * 2 })),
    );
    fc.assert(
      fc.property(shuffled, ([inOrder, anyhow]) => {
        assert.deepEqual(hear(...anyhow).subscriber, hear(...inOrder).subscriber);
      }),
    );
  });
});

describe('a second subscription', () => {
  const first: Told = { second: 1, news: lives('developer'), subscription: 'sub_1', startedAt: 1 };
  const second: Told = { second: 10, news: lives('scale'), subscription: 'sub_2', startedAt: 10 };

  it('counts from when it begins', () => {
    const { subscriber } = hear(first, second);
    assert.deepEqual([subscriber.tier, subscriber.subscriptionId, subscriber.startedAt], ['scale', 'sub_2', at(10)]);
  });

  it('is not undone by anything that happens to the first one afterwards', () => {
    const afterwards: Told[] = [
      { ...first, second: 11 },
      { ...first, second: 12, news: ends('unpaid') },
      { ...first, second: 13, news: ends('canceled') },
      { second: 14, news: paid('developer') },
      { second: 15, news: paid('developer', true) },
      { second: 16, news: failed },
    ];
    const heard = hear(first, second, ...afterwards);
    assert.deepEqual(heard.applied, [1, 10]);
    assert.deepEqual([heard.subscriber.tier, heard.subscriber.subscriptionId, heard.subscriber.status], ['scale', 'sub_2', 'active']);
  });

  it('still hears its own news that are older than the end of the first', () => {
    assert.equal(
      tierAfter(first, second, { ...first, second: 20, news: ends() }, { ...second, second: 15, news: lives('startup') }),
      'startup',
    );
  });

  it('that was never paid for takes nothing away', () => {
    const never: Told = { second: 20, news: ends('incomplete_expired'), subscription: 'sub_2', startedAt: 5 };
    assert.deepEqual(hear(first, never).applied, [1]);
    const assigned = { ...stranger, tier: 'startup' };
    assert.equal(subscriberAfter(assigned, noticeOf(never), 'free'), null);
  });

  it('counts when the first is over, and its end is an end', () => {
    const over: Told = { ...first, second: 5, news: ends() };
    assert.equal(tierAfter(first, over, second), 'scale');
    assert.equal(tierAfter(first, over, second, { ...second, second: 20, news: ends() }), 'free');
    assert.equal(tierAfter(first, over, { ...second, second: 20, news: ends() }, second), 'free', 'in the other order as well');
  });
});

describe('a paid invoice', () => {
  it('gives the plan where it is the first that is heard of it', () => {
    const { subscriber } = hear({ second: 1, news: paid('scale') });
    assert.deepEqual([subscriber.tier, subscriber.status, subscriber.subscriptionId], ['scale', 'active', 'sub_1']);
  });

  it('gives the plan back to who had not paid', () => {
    assert.equal(
      tierAfter({ second: 1, news: lives('scale') }, { second: 2, news: ends('unpaid') }, { second: 3, news: paid('scale') }),
      'scale',
    );
  });

  it('of an earlier plan, paid late, changes nothing about the plan of now', () => {
    assert.equal(tierAfter({ second: 1, news: lives('scale') }, { second: 2, news: paid('developer') }), 'scale');
  });

  it('that names its plan is believed', () => {
    assert.equal(tierAfter({ second: 1, news: lives('scale') }, { second: 2, news: paid('developer', true) }), 'developer');
  });

  it('of a plan that is not told is only noted', () => {
    assert.deepEqual(hear({ second: 1, news: paid(null) }).applied, []);
  });

  it('does not bring back what is over', () => {
    const told: Told[] = [
      { second: 1, news: lives('scale') },
      { second: 2, news: ends() },
      { second: 3, news: paid('scale', true) },
      { second: 4, news: failed },
    ];
    assert.deepEqual(hear(...told).applied, [1, 2]);
  });
});

describe('a subscription', () => {
  it('lives while it is paid, tried, or a payment is tried again', () => {
    const states: (Status | null)[] = ['active', 'trialing', 'past_due', 'unpaid', 'paused', 'canceled', 'incomplete_expired', null];
    assert.deepEqual(states.filter(isLive), ['active', 'trialing', 'past_due']);
  });
});
