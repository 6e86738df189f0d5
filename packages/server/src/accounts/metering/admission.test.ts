import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Credits } from '../credits/credits.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import {
  JumpyClock,
  FakeBrowser,
  Worker,
  unavailableError,
  chargesOf,
  micro,
  failsWith,
  tierOf,
  type WorkerOptions,
} from '../../../testing/accounts/metering.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const small = tierOf('small', { actions: 10, egress_bytes: 1000, browser_seconds: 60, captcha_solves: 2 });
const generous = { ...small, name: 'generous', overage_allowed: true };
const lenient = { ...small, name: 'lenient', enforced: false };
const endless = tierOf('endless');
const tiers = [small, generous, lenient, endless];

const workerOn = (options: Partial<WorkerOptions> = {}): Worker =>
  new Worker(database.store, { clock: new JumpyClock(), tiers, ...options });
/** Nobody else's, on the smallest plan: the tests of this file share a database. */
const newOwner = (): string => newId('opr');
const action = { axis: 'action' } as const;
const session = { axis: 'session' } as const;
const captcha = { axis: 'captcha' } as const;

describe('a plan', () => {
  it('a plan lets ten of a hundred calls through that come at once for the last ten actions', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => worker.metering.admit(owner, action)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.ok(failsWith('plan_limit_exceeded', { used: 10 })(outcome.reason));
    assert.equal(worker.metering.stats().refused.plan_limit_exceeded, 90);
  });

  it('a plan that refuses says which limit was reached, how much was used, and when it begins anew', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter, 9);
    await assert.rejects(
      worker.metering.admit(owner, { axis: 'action', count: 2 }),
      failsWith('plan_limit_exceeded', { axis: 'actions', limit: 10, used: 9, resets_at: '2026-02-01T00:00:00.000Z' }),
    );
    await worker.act(owner, meter);
  });

  it('a plan refuses by what the browsers have used up to this very moment', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { browser } = await worker.open(owner);
    browser.browserMs = 59_999;
    await (await worker.metering.admit(owner, session)).drop();
    browser.browserMs = 60_000;
    await assert.rejects(
      worker.metering.admit(owner, session),
      failsWith('plan_limit_exceeded', { axis: 'browser_seconds', limit: 60, used: 60 }),
    );
    await assert.rejects(worker.metering.admit(owner, action), failsWith('plan_limit_exceeded', { axis: 'browser_seconds' }));
    await (await worker.metering.admit(owner, captcha)).drop();
  });

  it('a plan refuses by what other workers have counted', async () => {
    const clock = new JumpyClock();
    const [here, there] = [workerOn({ clock }), workerOn({ clock })];
    const owner = newOwner();
    const { browser } = await there.open(owner);
    browser.egressBytes = 1000;
    await there.turn();
    await assert.rejects(here.metering.admit(owner, session), failsWith('plan_limit_exceeded', { axis: 'egress_bytes', used: 1000 }));
  });

  it('a plan gives back what was admitted and not done', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, { axis: 'captcha', count: 2 });
    await assert.rejects(worker.metering.admit(owner, captcha), failsWith('plan_limit_exceeded', { axis: 'captcha_solves', used: 2 }));
    await ticket.charge(meter, 0);
    const second = await worker.metering.admit(owner, { axis: 'captcha', count: 2 });
    await second.charge(meter, 1);
    await (await worker.metering.admit(owner, captcha)).drop();
    assert.equal((await worker.totals(owner)).captcha_solves, 1);
  });

  it('a ticket is charged once, whatever is done to it later', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, action);
    await ticket.charge(meter, 3);
    await ticket.charge(meter);
    await ticket.drop();
    const dropped = await worker.metering.admit(owner, action);
    await dropped.drop();
    await dropped.charge(meter);
    assert.equal((await worker.totals(owner)).actions, 3);
  });

  it('a plan refuses nothing where overage is allowed, where it is not enforced, and where it has no limits', async () => {
    const worker = workerOn();
    for (const tier of ['generous', 'lenient', 'endless']) {
      const owner = newOwner();
      await worker.setTier(owner, tier);
      const { meter, browser } = await worker.open(owner);
      Object.assign(browser, { egressBytes: 5000, browserMs: 100_000 });
      for (const need of [session, { axis: 'action', count: 50 }, { axis: 'captcha', count: 9 }] as const)
        await (await worker.metering.admit(owner, need)).charge(meter);
      const usage = await worker.metering.usage(owner);
      assert.deepEqual(usage.usage, { actions: 50, egress_bytes: 5000, browser_seconds: 100, sessions: 1, captcha_solves: 9 });
      assert.equal(usage.remaining.actions, tier === 'endless' ? null : 0);
      await worker.turn();
      assert.deepEqual(browser.exhausted, []);
    }
  });

  it('the plan of a trial counts until its end, and the one before it from then on', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const endsAt = new Date(worker.clock.now().getTime() + 60_000);
    await database.store.transaction((tx) => worker.owners.startTrial(tx, owner, { tier: 'endless', endsAt, actor: 'service' }));
    worker.owners.changed(owner);
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter, 11);
    assert.equal((await worker.metering.usage(owner)).trial_ends_at, endsAt.toISOString());
    worker.clock.advance(60_000);
    await assert.rejects(worker.metering.admit(owner, action), failsWith('plan_limit_exceeded', { limit: 10, used: 11 }));
    const { tier, trial_ends_at } = await worker.metering.usage(owner);
    assert.deepEqual([tier, trial_ends_at], ['small', null]);
  });

  it('a plan answers from memory while the usage is fresh', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter);
    worker.store.tables = () => assert.fail('the database was asked');
    await worker.act(owner, meter);
  });
});

describe('a session', () => {
  it('a session is notified when its plan has no browser seconds left, after they are written', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { browser } = await worker.open(owner);
    browser.browserMs = 59_999;
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
    browser.browserMs = 60_500;
    await worker.turn();
    assert.deepEqual(browser.exhausted, ['plan_limit']);
  });

  it('all sessions of an owner are notified when they have used up the traffic together, and not once it is over', async () => {
    const clock = new JumpyClock();
    const [here, there] = [workerOn({ clock }), workerOn({ clock })];
    const owner = newOwner();
    const opened = [await here.open(owner), await here.open(owner), await there.open(owner)];
    for (const { browser } of opened) browser.egressBytes = 400;
    await opened[0]?.meter.close();
    await there.turn();
    await here.turn();
    assert.deepEqual(
      opened.map(({ browser }) => browser.exhausted),
      [[], ['plan_limit'], []],
    );
    await there.turn();
    assert.deepEqual(opened[2]?.browser.exhausted, ['plan_limit']);
  });

  it('a session goes on where its owner’s plan became a lesser one, and no new one begins', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.setTier(owner, 'endless');
    const { browser } = await worker.open(owner);
    browser.browserMs = 100_000;
    await worker.setTier(owner, 'small');
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
    await assert.rejects(worker.metering.admit(owner, session), failsWith('plan_limit_exceeded'));
  });

  it('a session goes on where its owner’s plan became a larger one meanwhile', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { browser } = await worker.open(owner);
    browser.browserMs = 100_000;
    await worker.setTier(owner, 'endless');
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
  });

  it('a session whose listener throws keeps no other from being notified', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const deaf = new FakeBrowser();
    deaf.onExhausted = () => {
      throw new Error('deaf');
    };
    await worker.open(owner, deaf);
    const { browser } = await worker.open(owner);
    browser.browserMs = 60_000;
    await worker.turn();
    assert.deepEqual(browser.exhausted, ['plan_limit']);
    assert.equal(worker.metering.flushing.status.failures, 0);
  });
});

describe('a wallet that is enforced', () => {
  const enforced = (options: Partial<WorkerOptions> = {}): Worker =>
    workerOn({ tiers: [endless, generous], creditsEnforced: true, ...options });

  it('an enforced wallet is asked before an action, and charged when it was done', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 1.5);
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, session);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 1.5 * micro, held: micro });
    const details = { balance: 1.5, available: 0.5, required: 1 };
    await assert.rejects(worker.metering.admit(owner, session), failsWith('insufficient_credits', details));
    await ticket.charge(meter);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 0.5 * micro, held: 0 });
    assert.equal(worker.metering.stats().refused.insufficient_credits, 1);
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { session: micro });
  });

  it('an enforced wallet is spent to the last by a hundred calls at once, and never below', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 0.1);
    const { meter } = await worker.open(owner);
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => worker.act(owner, meter)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 0, held: 0 });
    assert.equal((await worker.totals(owner)).actions, 10);
  });

  it('an enforced wallet gets back what was held for an action that failed', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 1);
    await (await worker.metering.admit(owner, session)).drop();
    assert.deepEqual(await worker.credits.wallet(owner), { balance: micro, held: 0 });
  });

  it('an enforced wallet pays for what was done beyond what was asked for, with what it has', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 0.03);
    const { meter } = await worker.open(owner);
    await (await worker.metering.admit(owner, action)).charge(meter, 2);
    assert.equal((await worker.credits.wallet(owner)).balance, 10_000);
    await (await worker.metering.admit(owner, action)).charge(meter, 5);
    assert.equal((await worker.credits.wallet(owner)).balance, 0);
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { action: 30_000 });
  });

  it('an enforced wallet is charged once for an action with an id of its own, however often that is tried', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 5);
    const { meter } = await worker.open(owner);
    const opId = `session:${meter.meterId}:start`;
    for (let n = 0; n < 3; n += 1) await (await worker.metering.admit(owner, { axis: 'session', opId })).charge(meter);
    assert.equal((await worker.credits.wallet(owner)).balance, 4 * micro);
  });

  it('an enforced wallet is not asked where the plan allows an overdraft', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.setTier(owner, 'generous');
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter, 5);
    await meter.close();
    assert.equal((await worker.credits.wallet(owner)).balance, -50_000);
  });

  it('an enforced wallet is charged once where the plan came to allow an overdraft while an action was done', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.grant(owner, 1);
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, session);
    await worker.setTier(owner, 'generous');
    await ticket.charge(meter, 2);
    await meter.close();
    assert.deepEqual(await worker.credits.wallet(owner), { balance: -micro, held: 0 });
  });

  it('an enforced wallet is charged with what it has for actions begun while the plan allowed an overdraft', async () => {
    const worker = enforced();
    const owner = newOwner();
    await worker.setTier(owner, 'generous');
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, captcha);
    await worker.setTier(owner, 'endless');
    await ticket.charge(meter);
    await meter.close();
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 0, held: 0 });
  });

  /** The first commits fail, `reached` of them after they were done. */
  const failing =
    (failures: number, { reached = false } = {}) =>
    (credits: Credits): Credits => {
      let left = failures;
      const commit: Credits['commit'] = async (request) => {
        if (left === 0) return credits.commit(request);
        left -= 1;
        if (reached) await credits.commit(request);
        throw unavailableError();
      };
      return Object.assign(Object.create(credits) as Credits, {
        commit,
        reserve: credits.reserve.bind(credits),
        release: credits.release.bind(credits),
        wallet: credits.wallet.bind(credits),
      });
    };

  it('an enforced wallet is charged once where the answer to a charge was lost', async () => {
    const worker = enforced({ wrap: failing(2, { reached: true }) });
    const owner = newOwner();
    await worker.grant(owner, 5);
    const { meter } = await worker.open(owner);
    await (await worker.metering.admit(owner, session)).charge(meter);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 4 * micro, held: 0 });
  });

  it('an enforced wallet that cannot be reached for a second leaves what was done uncharged, reported in the log, and what was held to expire', async () => {
    const errors: object[] = [];
    const log: Log = { ...silentLog, error: (stats) => void errors.push(stats) };
    const worker = enforced({ wrap: failing(4), log });
    const owner = newOwner();
    await worker.grant(owner, 5);
    const { meter } = await worker.open(owner);
    await (await worker.metering.admit(owner, session)).charge(meter);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 5 * micro, held: micro });
    assert.equal((await worker.totals(owner)).sessions, 1);
    assert.equal(errors.length, 1);
  });
});
