import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { ServiceError } from '@berth/contract';
import type { Credits } from '../credits/credits.ts';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { egressMicro } from './counts.ts';
import {
  JumpyClock,
  Worker,
  unavailableError,
  chargesOf,
  megabyte,
  micro,
  tierOf,
  type WorkerOptions,
} from '../../../testing/accounts/metering.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const tiers = [tierOf('plain'), tierOf('generous', {}, { overage_allowed: true })];
const workerOn = (options: Partial<WorkerOptions> = {}): Worker =>
  new Worker(database.store, { clock: new JumpyClock(), tiers, ...options });
/** Nobody else's: the tests of this file share a database. */
const newOwner = (): string => newId('opr');

describe('traffic', () => {
  it('traffic is charged when a tenth of a credit has accrued, and the rest when the meter closes', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.grant(owner, 10);
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = megabyte / 2 - 1;
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), {});
    browser.egressBytes = megabyte / 2;
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), { egress: 100_000 });
    browser.egressBytes = megabyte / 2 + 23;
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { egress: 100_004 });
    assert.equal((await worker.metering.credits(owner)).balance, 9.899996);
  });

  it('traffic costs in all what its bytes cost at once, however it was charged', async () => {
    const burst = fc.array(fc.integer({ min: 0, max: 1_500_000 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(burst, fc.nat(3), async (bursts, lostEvery) => {
        let commits = 0;
        const wrap = (credits: Credits): Credits => {
          const commit: Credits['commit'] = async (request) => {
            const outcome = await credits.commit(request);
            commits += 1;
            if (lostEvery > 0 && commits % (lostEvery + 1) === 0) throw unavailableError();
            return outcome;
          };
          return Object.assign(Object.create(credits) as Credits, { commit, wallet: credits.wallet.bind(credits) });
        };
        const worker = workerOn({ wrap });
        const owner = newOwner();
        await worker.grant(owner, 10);
        const { meter, browser } = await worker.open(owner);
        for (const bytes of bursts) {
          browser.egressBytes += bytes;
          await worker.turn();
        }
        await meter.close();
        for (let turns = 0; worker.metering.stats().meters > 0; turns += 1) {
          assert.ok(turns < 5);
          await worker.turn();
        }
        assert.equal((await chargesOf(database.store, owner))['egress'] ?? 0, egressMicro(browser.egressBytes));
      }),
      { numRuns: 25 },
    );
  });

  it('traffic that the wallet cannot pay takes what is there and ends the session', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 0.3);
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = megabyte;
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
    browser.egressBytes = 2 * megabyte;
    await worker.turn();
    assert.deepEqual(browser.exhausted, ['credits_exhausted']);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 0, held: 0 });
    browser.egressBytes = 3 * megabyte;
    await meter.close();
    assert.deepEqual(browser.exhausted, ['credits_exhausted']);
    assert.deepEqual(await chargesOf(database.store, owner), { egress: 300_000 });
  });

  it('traffic is charged to the last byte from a wallet that is nearly empty, and nobody draws on it when it is empty', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 0.05);
    const { meter, browser } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, { axis: 'action' });
    await ticket.charge(meter);
    browser.egressBytes = megabyte * 0.1;
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), { action: 10_000 }, 'it can be paid, and may wait for more');
    browser.egressBytes = megabyte * 0.2;
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
    browser.egressBytes += 1000;
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), { action: 10_000, egress: 40_000 });
    assert.deepEqual(browser.exhausted, ['credits_exhausted']);
  });

  it('charging traffic leaves alone what is held for a call under way', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 1.1);
    const { meter, browser } = await worker.open(owner);
    const ticket = await worker.metering.admit(owner, { axis: 'captcha' });
    browser.egressBytes = 5 * megabyte;
    await worker.turn();
    assert.deepEqual(await worker.credits.wallet(owner), { balance: micro, held: micro });
    await ticket.charge(meter);
    assert.deepEqual(await worker.credits.wallet(owner), { balance: 0, held: 0 });
  });

  it('traffic becomes an overdraft where the plan allows it, and the session goes on', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.setTier(owner, 'generous');
    const { browser } = await worker.open(owner);
    browser.egressBytes = 10 * megabyte;
    await worker.turn();
    assert.deepEqual(browser.exhausted, []);
    assert.equal((await worker.metering.credits(owner)).balance, -2);
  });

  it('accrued traffic is charged at the end of the service, however little it is', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.grant(owner, 1);
    const { browser } = await worker.open(owner);
    browser.egressBytes = 50;
    await worker.metering.stop();
    assert.deepEqual(await chargesOf(database.store, owner), { egress: 10 });
  });

  it('traffic of a meter that closed while the database was away is charged when it is back', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.grant(owner, 1);
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = 50;
    worker.store.fault = 'refused';
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), {});
    worker.store.fault = null;
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), { egress: 10 });
  });

  it('traffic that could never be charged is reported in the log, and holds up nothing else', async () => {
    const refuse = (credits: Credits): Credits => {
      const commit: Credits['commit'] = (request) => {
        if (request.axis === 'egress') throw new ServiceError('idempotency_conflict', 'Another.');
        return credits.commit(request);
      };
      return Object.assign(Object.create(credits) as Credits, { commit, wallet: credits.wallet.bind(credits) });
    };
    const worker = workerOn({ wrap: refuse });
    const owner = newOwner();
    await worker.grant(owner, 1);
    const { meter, browser } = await worker.open(owner);
    await worker.act(owner, meter, 20);
    browser.egressBytes = megabyte;
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { action: 200_000 });
    assert.equal(worker.metering.stats().meters, 0);
  });
});

describe('a wallet that is not enforced', () => {
  it('a wallet that is not enforced is charged for actions, sessions and captchas all the same, a moment later', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.grant(owner, 10);
    const { meter, browser } = await worker.open(owner);
    for (const axis of ['session', 'action', 'captcha'] as const) await (await worker.metering.admit(owner, { axis })).charge(meter);
    browser.egressBytes = 5;
    assert.deepEqual(await worker.metering.credits(owner), {
      owner,
      balance: 7.989999,
      enforced: false,
      cost: { action: 0.01, captcha: 1, egress_mb: 0.2, session: 1 },
    });
    await worker.turn();
    assert.deepEqual(await chargesOf(database.store, owner), { session: micro, captcha: micro });
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { session: micro, captcha: micro, action: 10_000, egress: 1 });
    assert.equal((await worker.metering.credits(owner)).balance, 7.989999);
    assert.equal(meter.credits(), 2.010001);
  });

  it('a wallet that is not enforced pays what it can: it is never below zero, ends nothing, and owes nothing later', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    for (const axis of ['session', 'action'] as const) await (await worker.metering.admit(owner, { axis })).charge(meter);
    browser.egressBytes = megabyte;
    assert.equal((await worker.metering.credits(owner)).balance, 0);
    await worker.turn();
    await meter.close();
    assert.deepEqual([(await worker.credits.wallet(owner)).balance, browser.exhausted], [0, []]);
    assert.equal((await worker.totals(owner)).sessions, 1);
    await worker.grant(owner, 5);
    assert.equal((await worker.metering.credits(owner)).balance, 5);
  });

  it('charges that accrued before a wallet was enforced are charged, and not again', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 1);
    await worker.setTier(owner, 'generous');
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter, 5);
    await worker.setTier(owner, 'plain');
    await worker.act(owner, meter, 3);
    await meter.close();
    assert.deepEqual(await chargesOf(database.store, owner), { action: 80_000 });
  });
});

describe('the reported balance', () => {
  it('the reported balance is without what has accrued and is not yet charged, and with what is held', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 2);
    const { browser } = await worker.open(owner);
    browser.egressBytes = 100;
    await worker.metering.admit(owner, { axis: 'session' });
    const { balance, enforced } = await worker.metering.credits(owner);
    assert.deepEqual([balance, enforced], [1.99998, true]);
  });

  it('the reported balance is not below zero for what has accrued where the wallet is enforced', async () => {
    const worker = workerOn({ creditsEnforced: true });
    const owner = newOwner();
    await worker.grant(owner, 0.01);
    const { browser } = await worker.open(owner);
    browser.egressBytes = 400_000;
    assert.equal((await worker.metering.credits(owner)).balance, 0);
  });

  it('the reported balance is not taken from a wallet that was read before a charge', async () => {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const wrap = (credits: Credits): Credits => {
      const wallet: Credits['wallet'] = async (owner) => {
        const wallet = await credits.wallet(owner);
        asked.resolve();
        await gate.promise;
        return wallet;
      };
      return Object.assign(Object.create(credits) as Credits, { wallet, commit: credits.commit.bind(credits) });
    };
    const worker = workerOn({ wrap });
    const owner = newOwner();
    await worker.grant(owner, 10);
    const { browser } = await worker.open(owner);
    browser.egressBytes = megabyte;
    const failsWith = worker.metering.credits(owner);
    await asked.promise;
    await worker.turn();
    gate.resolve();
    assert.equal((await failsWith).balance, 9.8);
  });

  it('the reported balance is the same before, while and after accrued charges are charged', async () => {
    const worker = workerOn();
    const owner = newOwner();
    await worker.grant(owner, 100);
    const { browser } = await worker.open(owner);
    for (let n = 1; n <= 20; n += 1) {
      browser.egressBytes += megabyte;
      const turn = worker.turn();
      const balances = Array.from({ length: 6 }, async (_, rank) => {
        for (let turns = 0; turns < rank * 4; turns += 1) await setImmediate();
        return (await worker.metering.credits(owner)).balance;
      });
      assert.deepEqual(await Promise.all(balances), Array(6).fill((1000 - n * 2) / 10));
      await turn;
    }
  });
});
