import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ValidationError } from '@berth/contract';
import { Client } from 'pg';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { openStore, type Store, type Tables } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import {
  applied,
  dayMs,
  duplicate,
  ignored,
  openBilling,
  refusedWith,
  secret,
  tiers,
  type Received,
} from '../../../testing/accounts/billing-service.ts';
import { checkoutOf, eventOf, invoiceOf, signatureOf, subscriptionOf, type StripeEvent } from '../../../testing/accounts/billing.ts';

let database: TestStore;
/** The same database, as another worker has it. */
let second: Store;
let client: Client;
before(async () => {
  database = await testStore();
  second = await openStore({ databaseUrl: database.url, dataDir: import.meta.dirname, log: silentLog });
  client = new Client({ connectionString: database.url });
  await client.connect();
});
after(async () => {
  await client.end();
  await second.close();
  await database.drop();
});

const created = 'customer.subscription.created';
const updated = 'customer.subscription.updated';
const deleted = 'customer.subscription.deleted';

const open = (deps: Parameters<typeof openBilling>[1] = {}) => openBilling(database.store, deps);
const secondsAfter = (clock: ManualClock, seconds: number): Date => new Date(clock.now().getTime() + seconds * 1000);
const rowOf = async (owner: string): Promise<Record<string, unknown> | undefined> =>
  (await client.query('select * from owners where owner_id = $1', [owner])).rows[0];
const eventsOf = async (owner: string): Promise<{ type: string; applied: boolean }[]> =>
  (
    await client.query<{ type: string; applied: boolean }>(
      'select type, applied from billing_events where owner_id = $1 order by created_at',
      [owner],
    )
  ).rows;
const countOf = (all: Received[], wanted: Received): number => all.filter((each) => JSON.stringify(each) === JSON.stringify(wanted)).length;

describe('an event', () => {
  it('the event of a subscription that begins gives its owner the plan, and is logged', async () => {
    const { sendNow, tierOf, auditTrail, clock } = open();
    const event = eventOf(created, subscriptionOf({ owner: 'begun', tier: 'scale', startedAt: clock.now() }), {
      madeAt: clock.now(),
      id: 'evt_begun',
    });
    assert.deepEqual(await open({ clock }).send(event), applied);
    assert.equal(await tierOf('begun'), 'scale');
    assert.deepEqual(await auditTrail('begun'), [
      { actor: 'payment_provider', action: 'tier.changed', subject: 'begun', from: 'free', to: 'scale', why: `${created} evt_begun` },
    ]);
    assert.deepEqual(await sendNow(created, subscriptionOf({ owner: 'begun', tier: 'scale' })), applied);
    assert.equal((await auditTrail('begun')).length, 1, 'an unchanged state is not logged again');
  });

  it('the event of a completed checkout gives the plan and names the customer', async () => {
    const { sendNow, tierOf } = open();
    assert.deepEqual(
      await sendNow(
        'checkout.session.completed',
        checkoutOf({ owner: 'checked', tier: 'scale', subscription: 'sub_c', customer: 'cus_c' }),
      ),
      applied,
    );
    assert.equal(await tierOf('checked'), 'scale');
    const row = await rowOf('checked');
    assert.deepEqual([row?.['customer_id'], row?.['subscription_id'], row?.['subscription_status']], ['cus_c', 'sub_c', 'active']);
  });

  it('the event of a changed subscription changes the plan, by its price where it names none', async () => {
    const { sendNow, tierOf, clock } = open();
    await sendNow(created, subscriptionOf({ owner: 'changed', price: 'price_dev' }));
    assert.equal(await tierOf('changed'), 'developer');
    clock.advance(1000);
    await sendNow(updated, subscriptionOf({ owner: 'changed', price: 'price_scale' }));
    assert.equal(await tierOf('changed'), 'scale');
  });

  for (const [type, status] of [
    [deleted, 'canceled'],
    [deleted, 'active'],
    [updated, 'unpaid'],
    [updated, 'paused'],
    [updated, 'incomplete_expired'],
  ] as const)
    it(`${type} with the state ${status} takes the plan`, async () => {
      const { sendNow, tierOf, auditTrail, clock } = open();
      const owner = `ended-${type}-${status}`;
      await sendNow(created, subscriptionOf({ owner, tier: 'scale' }));
      clock.advance(1000);
      assert.deepEqual(await sendNow(type, subscriptionOf({ owner, tier: 'scale', status })), applied);
      assert.equal(await tierOf(owner), 'free');
      const entry = (await auditTrail(owner)).at(-1);
      assert.deepEqual([entry?.action, entry && 'to' in entry && entry['to']], ['tier.changed', 'free']);
    });

  it('the event of a paid invoice applies the plan that it names', async () => {
    const { sendNow, tierOf } = open();
    assert.deepEqual(await sendNow('invoice.paid', invoiceOf({ owner: 'invoiced', prices: ['price_scale'] })), applied);
    assert.equal(await tierOf('invoiced'), 'scale');
    assert.deepEqual(await sendNow('invoice.paid', invoiceOf({ owner: 'not-named', prices: ['price_of_a_mug'] })), ignored);
    assert.equal(await tierOf('not-named'), 'free');
  });

  it('the event of a payment that failed leaves the plan, and is logged', async () => {
    const { sendNow, tierOf, auditTrail, clock } = open();
    await sendNow(created, subscriptionOf({ owner: 'failing', tier: 'scale' }));
    clock.advance(1000);
    const event = eventOf('invoice.payment_failed', invoiceOf({ owner: 'failing', status: 'open' }), {
      madeAt: clock.now(),
      id: 'evt_failing',
    });
    assert.deepEqual(await open({ clock }).send(event), applied);
    assert.equal(await tierOf('failing'), 'scale');
    assert.equal((await rowOf('failing'))?.['subscription_status'], 'past_due');
    assert.deepEqual((await auditTrail('failing')).at(-1), {
      actor: 'payment_provider',
      action: 'billing.payment_failed',
      subject: 'sub_1',
      event_id: 'evt_failing',
    });
  });

  it('an event of another type, or of nobody, is accepted and changes nothing', async () => {
    const { sendNow } = open();
    assert.deepEqual(await sendNow('customer.created', { id: 'cus_1', metadata: { owner: 'unknown-type' } }), ignored);
    for (const owner of [['acme'], '__proto__', undefined, 'x'.repeat(10_000), { $ne: '' }])
      assert.deepEqual(await sendNow(updated, { ...subscriptionOf({ tier: 'scale' }), metadata: { owner, tier: 'scale' } }), ignored);
    assert.equal(await rowOf('unknown-type'), undefined);
  });

  it('an event of an unknown plan changes nothing, and is applied when it is sent again and the plan is known', async () => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message) };
    const { send, tierOf, clock } = open({ log });
    const event = eventOf(updated, subscriptionOf({ owner: 'unpriced', price: 'price_new' }), { madeAt: clock.now() });
    assert.deepEqual(await send(event), ignored);
    assert.match(warnings.join(), /without a known tier/);
    assert.deepEqual(await open({ clock, plans: { ...tiers, prices: new Map([['price_new', 'scale']]) } }).send(event), applied);
    assert.equal(await tierOf('unpriced'), 'scale');
  });

  it('an event applies the plan at once, also where the plan was read a moment ago', async () => {
    const { sendNow, owners, tierOf } = open();
    const heard: string[] = [];
    owners.onChanged((owner) => heard.push(owner));
    assert.equal(await tierOf('asked'), 'free');
    await sendNow(created, subscriptionOf({ owner: 'asked', tier: 'scale' }));
    assert.equal(await tierOf('asked'), 'scale');
    assert.deepEqual(heard, ['asked']);
  });
});

describe('an event that comes again', () => {
  it('an event that comes again is a duplicate and changes nothing, whatever came in between', async () => {
    const { send, sendNow, tierOf, auditTrail, clock } = open();
    const event = eventOf(created, subscriptionOf({ owner: 'again', tier: 'scale' }), { madeAt: clock.now() });
    await send(event);
    await sendNow(deleted, subscriptionOf({ owner: 'again' }));
    const before = [await rowOf('again'), await auditTrail('again')];
    for (let times = 0; times < 5; times += 1) assert.deepEqual(await send(event), duplicate);
    assert.equal(await tierOf('again'), 'free');
    assert.deepEqual([await rowOf('again'), await auditTrail('again')], before);
  });

  it('an event that comes five times at once, at two workers, is applied once', async () => {
    const { send, auditTrail, clock } = open();
    const other = openBilling(second, { clock });
    const event = eventOf(created, subscriptionOf({ owner: 'five', tier: 'scale' }), { madeAt: clock.now() });
    const received = await Promise.all(Array.from({ length: 5 }, (_, n) => (n % 2 ? send(event) : other.send(event))));
    assert.deepEqual([countOf(received, applied), countOf(received, duplicate)], [1, 4]);
    assert.equal((await auditTrail('five')).length, 1);
  });

  it('an event that could not be written the first time is applied when it comes again', async () => {
    const clock = new ManualClock();
    const dying: Store = {
      tables: <T>() => database.store.tables<T>(),
      urgent: database.store,
      ping: (options) => database.store.ping(options),
      connections: database.store.connections,
      observe: () => undefined,
      close: () => Promise.resolve(),
      transaction: <R>(work: (tx: Tables) => Promise<R>): Promise<R> =>
        database.store.transaction(async (tx) => {
          await work(tx);
          throw new Error('died before the commit');
        }),
    };
    const event = eventOf(created, subscriptionOf({ owner: 'dying', tier: 'scale' }), { madeAt: clock.now() });
    await assert.rejects(openBilling(dying, { clock }).send(event), /died/);
    const { send, tierOf, auditTrail } = open({ clock });
    assert.deepEqual(
      [await rowOf('dying'), await eventsOf('dying'), await auditTrail('dying'), await tierOf('dying')],
      [undefined, [], [], 'free'],
    );
    assert.deepEqual(await send(event), applied);
    assert.equal(await tierOf('dying'), 'scale');
  });

  it('an event that comes again because the answer was lost is a duplicate', async () => {
    const clock = new ManualClock();
    const { send, tierOf } = open({ clock });
    const event = eventOf(created, subscriptionOf({ owner: 'unheard', tier: 'scale' }), { madeAt: clock.now() });
    await send(event);
    assert.deepEqual(await openBilling(second, { clock }).send(event), duplicate);
    assert.equal(await tierOf('unheard'), 'scale');
  });
});

describe('events out of order', () => {
  it('events out of order end as the newest one says', async () => {
    const { send, tierOf, clock } = open();
    const events = ['developer', 'startup', 'scale'].map((tier, n) =>
      eventOf(updated, subscriptionOf({ owner: 'reversed', tier }), { madeAt: secondsAfter(clock, n) }),
    );
    for (const [n, event] of events.toReversed().entries()) assert.deepEqual(await send(event), n === 0 ? applied : ignored);
    assert.equal(await tierOf('reversed'), 'scale');
    assert.deepEqual(
      (await eventsOf('reversed')).map((event) => event.applied),
      [false, false, true],
    );
  });

  it('events that are an hour old change nothing where a newer one came, and are applied where none did', async () => {
    const { send, tierOf, clock } = open();
    const old = (owner: string): StripeEvent =>
      eventOf(created, subscriptionOf({ owner, tier: 'scale' }), { madeAt: secondsAfter(clock, -3700) });
    await send(eventOf(deleted, subscriptionOf({ owner: 'hour' }), { madeAt: secondsAfter(clock, -10) }));
    assert.deepEqual([await send(old('hour')), await tierOf('hour')], [ignored, 'free']);
    assert.deepEqual([await send(old('hour-alone')), await tierOf('hour-alone')], [applied, 'scale']);
  });

  it('events out of order and at once end as the newest one says, at two workers', async () => {
    const clock = new ManualClock();
    const workers = [open({ clock }), openBilling(second, { clock })];
    for (let round = 0; round < 10; round += 1) {
      const owner = `concurrent-${round}`;
      const events = ['developer', 'startup', 'free', 'scale'].flatMap((tier, n) => {
        const event = eventOf(updated, subscriptionOf({ owner, tier }), { madeAt: secondsAfter(clock, n) });
        return [event, event];
      });
      const received = await Promise.all(events.map((event, n) => workers[(n + round) % 2]?.send(event) ?? assert.fail()));
      assert.equal(countOf(received, duplicate), 4);
      const row = await rowOf(owner);
      assert.deepEqual([row?.['tier'], row?.['billing_event_at']], ['scale', secondsAfter(clock, 3)]);
    }
  });

  it("the plan of a new subscription stays when the event of the old one's end comes after it", async () => {
    const { sendNow, tierOf, clock } = open();
    await sendNow(created, subscriptionOf({ id: 'sub_old', owner: 'switched', tier: 'developer', startedAt: clock.now() }));
    clock.advance(dayMs);
    await sendNow('checkout.session.completed', checkoutOf({ owner: 'switched', tier: 'scale', subscription: 'sub_new' }));
    clock.advance(1000);
    assert.deepEqual(await sendNow(deleted, subscriptionOf({ id: 'sub_old', owner: 'switched', startedAt: new Date(0) })), ignored);
    assert.equal(await tierOf('switched'), 'scale');
    clock.advance(1000);
    assert.deepEqual(await sendNow(deleted, subscriptionOf({ id: 'sub_new', owner: 'switched', startedAt: clock.now() })), applied);
    assert.equal(await tierOf('switched'), 'free');
  });

  it('events of one owner never change another owner', async () => {
    const { sendNow, tierOf } = open();
    await sendNow(created, subscriptionOf({ owner: 'ours', tier: 'scale' }));
    await sendNow(deleted, subscriptionOf({ owner: 'theirs' }));
    assert.deepEqual([await tierOf('ours'), await tierOf('theirs')], ['scale', 'free']);
  });
});

describe('an event without a good signature', () => {
  const event = (owner: string): string =>
    JSON.stringify(eventOf(created, subscriptionOf({ owner, tier: 'scale' }), { madeAt: new Date(0) }));

  it('an event without a valid signature is refused where there is a secret, and nothing of it is stored', async () => {
    const { billing, clock } = open();
    const text = event('forged');
    const signature = signatureOf(text, { secret: 'whsec_of_mallory', at: clock.now() });
    for (const [raw, header] of [
      [text, undefined],
      [text, signature],
      [`${text} `, signatureOf(text, { secret, at: clock.now() })],
      ['', undefined],
    ] as const)
      await assert.rejects(billing.webhook(Buffer.from(raw), header), refusedWith('invalid_signature'));
    const broken = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    await assert.rejects(
      billing.webhook(broken, signatureOf(broken.toString(), { secret, at: clock.now() })),
      refusedWith('invalid_signature'),
    );
    assert.deepEqual([await rowOf('forged'), await eventsOf('forged')], [undefined, []]);
    assert.deepEqual(billing.stats(), { events: [{ type: 'other', outcome: 'refused', count: 5 }], unsigned: 0 });
    assert.deepEqual(billing.warnings(), []);
  });

  it('an unsigned event is refused where there is no secret and others reach the service', async () => {
    const { billing } = open({ stripe: { secretKey: 'sk_test', webhookSecret: null, apiUrl: null } });
    await assert.rejects(
      billing.webhook(Buffer.from(event('refused')), undefined),
      (error) =>
        refusedWith('billing_not_configured')(error) &&
        /BERTH_STRIPE_WEBHOOK_SECRET.*BERTH_ALLOW_UNSIGNED_WEBHOOKS=1/.test((error as Error).message),
    );
    assert.equal(await rowOf('refused'), undefined);
    assert.match(billing.warnings().join(), /BERTH_STRIPE_WEBHOOK_SECRET/);
    assert.deepEqual(open({ stripe: { secretKey: null, webhookSecret: null, apiUrl: null } }).billing.warnings(), []);
  });

  it('an unsigned event on loopback is accepted, counted and warned about', async () => {
    const { billing, tierOf } = open({ stripe: { secretKey: null, webhookSecret: null, apiUrl: null }, unsignedEvents: 'accept' });
    assert.deepEqual(await billing.webhook(Buffer.from(event('believed')), undefined), applied);
    assert.deepEqual(await billing.webhook(Buffer.from(event('believed-too')), 't=1,v1=anything'), applied);
    assert.equal(await tierOf('believed'), 'scale');
    assert.equal(billing.stats().unsigned, 2);
    assert.match(billing.warnings().join(), /WITHOUT A SIGNATURE/);
    for (const text of ['', '[]', '{', '{"id":"evt_1"}', '\xff'])
      await assert.rejects(billing.webhook(Buffer.from(text, 'latin1'), undefined), ValidationError);
  });
});

describe('the events that were taken', () => {
  it('events are counted by their type and by their outcome', async () => {
    const { billing, send, sendNow, clock } = open();
    const event = eventOf(created, subscriptionOf({ owner: 'counted', tier: 'scale' }), { madeAt: clock.now() });
    await send(event);
    await send(event);
    await send(event);
    await send(eventOf(updated, subscriptionOf({ owner: 'counted', tier: 'scale' }), { madeAt: secondsAfter(clock, -1) }));
    await sendNow(updated, subscriptionOf({ owner: 'counted', status: 'incomplete' }));
    await sendNow('a.type.of.mallory', { metadata: { owner: 'counted' } });
    assert.deepEqual(billing.stats().events, [
      { type: created, outcome: 'applied', count: 1 },
      { type: created, outcome: 'duplicate', count: 2 },
      { type: updated, outcome: 'ignored', count: 2 },
      { type: 'other', outcome: 'ignored', count: 1 },
    ]);
  });

  it('event ids are stored for ninety days, and then deleted', async () => {
    const { billing, send, clock } = open();
    const event = eventOf(created, subscriptionOf({ owner: 'aged', tier: 'scale' }), { madeAt: clock.now() });
    await send(event);
    const prune = async (): Promise<void> => {
      billing.pruning.nudge();
      await billing.pruning.idle();
      assert.equal(billing.pruning.status.lastError, null);
    };
    clock.advance(90 * dayMs);
    await prune();
    assert.deepEqual(await send(event), duplicate);
    clock.advance(1);
    await prune();
    assert.deepEqual(await eventsOf('aged'), []);
  });
});

describe('what is sold', () => {
  it('nothing is sold where there is no key of the payment provider', async () => {
    const { billing } = open();
    const options = { owner: 'shopper', origin: 'http://localhost' };
    await assert.rejects(billing.checkout({ ...options, tier: 'scale' }), refusedWith('billing_not_configured'));
    await assert.rejects(billing.portal(options), refusedWith('billing_not_configured'));
  });
});
