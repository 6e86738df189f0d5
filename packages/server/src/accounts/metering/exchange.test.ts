import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { isPressing } from './limits.ts';
import { failsWith, JumpyClock, tierOf, Worker } from '../../../testing/accounts/metering.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const small = tierOf('small', { actions: 10, egress_bytes: 1_000_000, browser_seconds: 36_000, captcha_solves: 0 });
const newOwner = (): string => newId('opr');
const action = { axis: 'action' } as const;

/** Two workers whose clock is one. */
function fleet(): { clock: JumpyClock; a: Worker; b: Worker; exchange: () => Promise<void> } {
  const clock = new JumpyClock();
  const options = { clock, tiers: [small], hasPeers: true };
  const [a, b] = [new Worker(database.store, options), new Worker(database.store, options)];
  return { clock, a, b, exchange: () => a.exchange().then(() => b.exchange()) };
}

describe('a monthly limit over several workers', () => {
  it('a monthly limit over several workers holds within a second for calls, without a turn', async () => {
    const { a, b, exchange } = fleet();
    const owner = newOwner();
    const [atA, atB] = [await a.open(owner), await b.open(owner)];
    await a.act(owner, atA.meter, 6);
    await b.act(owner, atB.meter, 3);
    await exchange();
    await a.act(owner, atA.meter);
    await exchange();
    for (const worker of [a, b])
      await assert.rejects(worker.metering.admit(owner, action), failsWith('plan_limit_exceeded', { axis: 'actions', used: 10 }));
  });

  it('a monthly limit over several workers ends sessions everywhere within a second, also those that do nothing', async () => {
    const { a, b, exchange } = fleet();
    const owner = newOwner();
    const [atA, atB] = [await a.open(owner), await b.open(owner)];
    atA.browser.egressBytes = 950_000;
    for (const worker of [a, b]) await worker.turn();
    atA.browser.egressBytes = 1_000_000;
    await exchange();
    assert.deepEqual([atA.browser.exhausted, atB.browser.exhausted], [['plan_limit'], ['plan_limit']]);
  });

  it('a monthly limit over several workers costs no statement far from it, nor where it was reached before', async () => {
    const { a, b } = fleet();
    const [idle, done] = [newOwner(), newOwner()];
    const [atA, atB] = [await a.open(idle), await a.open(done)];
    await a.act(done, atB.meter, 10);
    await b.open(idle);
    for (const worker of [a, b, a, b]) await worker.turn();
    let statements = 0;
    database.store.observe({ onConnection: () => undefined, onStatement: () => void (statements += 1) });
    atA.browser.browserMs += 2000;
    atA.browser.egressBytes += 100;
    atB.browser.browserMs += 2000;
    for (const worker of [a, b]) await worker.exchange();
    assert.equal(statements, 0);
  });

  it('a monthly limit over several workers is read in one statement for all owners', async () => {
    const { a } = fleet();
    for (let n = 0; n < 20; n += 1) await a.open(newOwner());
    let statements = 0;
    database.store.observe({ onConnection: () => undefined, onStatement: () => void (statements += 1) });
    await a.turn();
    // Deletes of old rows come with the first turn.
    assert.ok(statements <= 4, `${statements} statements`);
  });
});

describe('what other workers must know at once', () => {
  const none = { actions: 0, egress_bytes: 0, browser_seconds: 0, captcha_solves: 0 };
  const plan = tierOf('plan', { actions: 1000 });
  const is = (used: number, unwritten: number): boolean => isPressing(plan, { ...none, actions: used }, { ...none, actions: unwritten });

  it('usage is reported to other workers at once when it is a noticeable part of what is left, near the limit, or reaches it', () => {
    assert.deepEqual([is(3, 3), is(4, 4), is(504, 2), is(504, 1), is(940, 0), is(1000, 60)], [false, true, true, false, true, true]);
    assert.deepEqual([is(1000, 0), is(1010, 5)], [false, false]);
    assert.equal(isPressing({ ...plan, overage_allowed: true }, { ...none, actions: 999 }, none), false);
  });
});
