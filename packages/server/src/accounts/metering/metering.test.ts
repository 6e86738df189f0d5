import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { JumpyClock, FakeBrowser, Worker, monthsOf, tierOf, type WorkerOptions } from '../../../testing/accounts/metering.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const workerOn = (clock = new JumpyClock(), options: Partial<WorkerOptions> = {}): Worker =>
  new Worker(database.store, { clock, ...options });
/** Nobody else's: the tests of this file share a database. */
const newOwner = (): string => newId('opr');

describe('usage', () => {
  it('usage is reported with the limits of the plan, what remains of them, and when they begin anew', async () => {
    const tiers = [tierOf('small', { actions: 10, egress_bytes: 100 }, { premium_egress: true })];
    const worker = workerOn(new JumpyClock(new Date('2026-12-31T23:00:00.000Z')), { tiers });
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    await worker.act(owner, meter, 4);
    Object.assign(browser, { egressBytes: 120, browserMs: 7999 });
    assert.deepEqual(await worker.metering.usage(owner), {
      tier: 'small',
      month: '2026-12',
      usage: { actions: 4, egress_bytes: 120, browser_seconds: 7, sessions: 0, captcha_solves: 0 },
      limits: { actions: 10, egress_bytes: 100, browser_seconds: null, captcha_solves: null },
      remaining: { actions: 6, egress_bytes: 0, browser_seconds: null, captcha_solves: null },
      concurrency_limit: 3,
      premium_egress: true,
      overage_allowed: false,
      enforced: true,
      resets_at: '2027-01-01T00:00:00.000Z',
      trial_ends_at: null,
    });
  });

  it('usage is reported without waiting while the cached usage is fresh', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.metering.usage(owner);
    assert.ok(!(worker.metering.usage(owner) instanceof Promise));
    worker.clock.advance(900);
    assert.ok(!(worker.metering.usage(owner) instanceof Promise));
  });

  it('usage is read once from the database for all who ask at the same time', async () => {
    const worker = workerOn();
    const owner = newOwner();
    let reads = 0;
    const { tables } = worker.store;
    worker.store.tables = () => {
      reads += 1;
      return tables();
    };
    await Promise.all(Array.from({ length: 50 }, () => worker.totals(owner)));
    assert.equal(reads, 1);
  });

  it('usage is not taken from an answer that is older than what was written meanwhile', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { tables } = worker.store;
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    worker.store.tables = <T>() =>
      tables<T>().withPlugin({
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          asked.resolve();
          await gate.promise;
          return result;
        },
      });
    const failsWith = worker.totals(owner);
    await asked.promise;
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = 100;
    await meter.close();
    gate.resolve();
    assert.equal((await failsWith).egress_bytes, 100);
  });

  it('usage is of the moment in which it is reported, also where the plan had to be waited for', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    await worker.totals(owner);
    browser.egressBytes = 100;
    const { getPlan } = worker.owners;
    worker.owners.getCachedPlan = () => null;
    worker.owners.getPlan = async (of) => {
      await meter.close();
      worker.clock.advance(2000);
      worker.owners.getPlan = getPlan;
      await worker.totals(owner);
      const brief = await worker.open(owner);
      brief.browser.egressBytes = 11;
      await brief.meter.close();
      return getPlan.call(worker.owners, of);
    };
    assert.equal((await worker.totals(owner)).egress_bytes, 111);
  });

  it('usage sums browser seconds from milliseconds, so that short uses are not lost', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const [one, other] = [await worker.open(owner), await worker.open(owner)];
    one.browser.browserMs = 700;
    other.browser.browserMs = 600;
    assert.equal((await worker.totals(owner)).browser_seconds, 1);
  });

  it('usage neither rises nor falls while it is being written', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    for (let n = 1; n <= 30; n += 1) {
      browser.egressBytes += 1000;
      const brief = await worker.open(owner);
      brief.browser.egressBytes = 500;
      const [turn, end] = [worker.turn(), brief.meter.close()];
      const reads = Array.from({ length: 6 }, async (_, rank) => {
        for (let turns = 0; turns < rank * 4; turns += 1) await setImmediate();
        worker.clock.advance(2000);
        return (await worker.totals(owner)).egress_bytes;
      });
      assert.deepEqual(await Promise.all(reads), Array(6).fill(1500 * n));
      await Promise.all([turn, end]);
    }
    await meter.close();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 45_000);
  });

  it('usage is what this worker counted and, after a moment, what all others have', async () => {
    const clock = new JumpyClock();
    const [here, there] = [workerOn(clock), workerOn(clock)];
    const owner = newOwner();
    const [ours, theirs] = [await here.open(owner), await there.open(owner)];
    ours.browser.egressBytes = 10;
    theirs.browser.egressBytes = 200;
    assert.equal((await here.totals(owner)).egress_bytes, 10);
    await there.turn();
    assert.equal((await here.totals(owner)).egress_bytes, 210);
    await here.turn();
    await ours.meter.close();
    await theirs.meter.close();
    clock.advance(2000);
    assert.deepEqual([(await here.totals(owner)).egress_bytes, (await there.totals(owner)).egress_bytes], [210, 210]);
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 210);
  });
});

describe('what was counted', () => {
  it('counted usage is written by the loop, and once more when its meter closes', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    await worker.act(owner, meter);
    browser.egressBytes = 100;
    await worker.turn();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 100);
    browser.egressBytes = 150;
    await meter.close();
    assert.deepEqual((await monthsOf(database.store, owner))['2026-01'], {
      owner_id: owner,
      month: '2026-01',
      actions: 1,
      egress_bytes: 150,
      browser_ms: 0,
      sessions: 0,
      captcha_solves: 0,
    });
    assert.equal(worker.metering.stats().meters, 0);
    assert.equal((await worker.totals(owner)).egress_bytes, 150);
  });

  it('counted usage is written at the end of the service', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { browser } = await worker.open(owner);
    worker.metering.start();
    browser.browserMs = 1234;
    await worker.metering.stop();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.browser_ms, 1234);
  });

  it('counted usage is kept while the database is away, and written when it is back', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    worker.store.fault = 'refused';
    browser.egressBytes = 100;
    await worker.turn();
    assert.equal(worker.metering.flushing.status.failures, 1);
    await meter.close();
    assert.equal(worker.metering.stats().meters, 1);
    worker.store.fault = null;
    await worker.turn();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 100);
    assert.equal(worker.metering.stats().meters, 0);
  });

  it('counted usage is added once where the answer to its commit was lost', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = 100;
    worker.store.fault = 'unanswered';
    await worker.turn();
    assert.equal(worker.metering.flushing.status.failures, 1);
    browser.egressBytes = 130;
    worker.clock.advance(2000);
    assert.equal((await worker.totals(owner)).egress_bytes, 130);
    await worker.turn();
    worker.store.fault = null;
    await meter.close();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 130);
    assert.equal((await worker.totals(owner)).egress_bytes, 130);
  });

  it('usage counted since the last write is lost by a crash, and never doubled', async () => {
    const owner = newOwner();
    const killed = workerOn();
    const { meter, browser } = await killed.open(owner);
    await killed.act(owner, meter, 3);
    browser.egressBytes = 1000;
    await killed.turn();
    await killed.act(owner, meter, 1);
    browser.egressBytes = 1800;
    const next = workerOn(killed.clock);
    assert.deepEqual(await next.totals(owner), { actions: 3, egress_bytes: 1000, browser_seconds: 0, sessions: 0, captcha_solves: 0 });
    const second = await next.open(owner);
    second.browser.egressBytes = 50;
    await next.turn();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 1050);
  });

  it('counted usage is written in parts where it is much', async () => {
    const worker = workerOn();
    const owner = newOwner();
    for (let n = 0; n < 700; n += 1) (await worker.open(owner)).browser.egressBytes = n;
    await worker.turn();
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, (699 * 700) / 2);
  });

  it('counted usage is written by two workers for the same owners at once without a deadlock', async () => {
    const clock = new JumpyClock();
    const workers = [workerOn(clock), workerOn(clock), workerOn(clock)];
    const owners = Array.from({ length: 20 }, newOwner);
    const uses: FakeBrowser[] = [];
    for (const worker of workers) for (const owner of owners.toReversed()) uses.push((await worker.open(owner)).browser);
    for (let turns = 1; turns <= 10; turns += 1) {
      for (const browser of uses) browser.egressBytes += 1;
      await Promise.all(workers.map((worker) => worker.turn()));
    }
    for (const worker of workers) assert.equal(worker.metering.flushing.status.failures, 0);
    for (const owner of owners) assert.equal((await monthsOf(database.store, owner))['2026-01']?.egress_bytes, 30);
  });

  it('an action is counted also where its meter was closed just before', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, { axis: 'captcha' });
    await worker.act(owner, meter, 2);
    await meter.close();
    await ticket.charge(meter);
    assert.deepEqual(await worker.totals(owner), { actions: 2, egress_bytes: 0, browser_seconds: 0, sessions: 0, captcha_solves: 1 });
    await worker.turn();
    worker.clock.advance(2000);
    assert.equal((await worker.totals(owner)).captcha_solves, 1);
    assert.deepEqual((await monthsOf(database.store, owner))['2026-01']?.actions, 2);
    assert.equal(worker.metering.stats().meters, 0);
  });

  it('a second meter under the same id is refused', async () => {
    const worker = workerOn();
    const { meter } = await worker.open('anna');
    await assert.rejects(worker.open('anna', new FakeBrowser(), meter.meterId), /already open/);
  });

  it('counted usage is reported for the whole process, by axis', async () => {
    const worker = workerOn();
    const { meter, browser } = await worker.open(newOwner());
    const other = await worker.open(newOwner());
    await worker.act(meter.owner, meter, 2);
    Object.assign(browser, { egressBytes: 10, browserMs: 1700 });
    Object.assign(other.browser, { browserMs: 400 });
    await worker.turn();
    assert.deepEqual(worker.metering.stats().totals, { actions: 2, egress_bytes: 10, browser_seconds: 2, sessions: 0, captcha_solves: 0 });
  });
});
