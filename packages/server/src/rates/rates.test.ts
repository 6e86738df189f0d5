import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { testStore, type TestStore } from '../../testing/test-store.ts';
import { RateLimiterRes, Rates } from './rates.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

function worker(workerId: string, { alone = false } = {}) {
  const rates = new Rates({ store: database.store, workerId, hasPeers: () => !alone });
  const exchange = async (): Promise<void> => {
    rates.exchange.nudge();
    await rates.exchange.idle();
    assert.equal(rates.exchange.status.lastError, null);
  };
  return {
    exchange,
    /** How many of so many calls are allowed, and for how long the last one was refused. */
    call: async (key: string, count: number, perMinute = 10) => {
      let allowed = 0;
      let refusedMs = 0;
      for (let n = 0; n < count; n += 1)
        await rates
          .limiter('calls', perMinute)
          .consume(key)
          .then(
            () => void (allowed += 1),
            (state: unknown) => {
              assert.ok(state instanceof RateLimiterRes);
              refusedMs = state.msBeforeNext;
            },
          );
      return { allowed, refusedMs };
    },
    takeBack: (key: string) => rates.limiter('calls', 10).reward(key),
  };
}

const rows = async (): Promise<number> =>
  (await sql<{ n: number }>`select count(*)::int as n from rate_counts`.execute(database.store.tables())).rows[0]?.n ?? 0;

describe('a rate over several workers', () => {
  it('a rate over several workers holds for all together as soon as they have exchanged their counts', async () => {
    const [a, b, c] = [worker('a'), worker('b'), worker('c')];
    const allowed = [await a.call('one', 4), await b.call('one', 4), await c.call('other', 1)].map((each) => each.allowed);
    assert.deepEqual(allowed, [4, 4, 1]);
    for (const each of [a, b, c, a]) await each.exchange();
    assert.deepEqual([(await a.call('one', 4)).allowed, (await b.call('one', 4)).allowed], [2, 2]);
    for (const each of [a, b]) await each.exchange();
    assert.equal((await a.call('one', 1)).allowed, 0);
    // A worker that was not called before allows what it cannot know, until its next exchange.
    assert.equal((await c.call('one', 1)).allowed, 1);
    await c.exchange();
    assert.equal((await c.call('one', 1)).allowed, 0);
    assert.equal((await c.call('other', 9)).allowed, 9, 'other callers are not concerned');
  });

  it('a rate over several workers counts no call twice, however often they exchange', async () => {
    const [a, b] = [worker('a'), worker('b')];
    await a.call('twice', 3);
    await b.call('twice', 3);
    for (let n = 0; n < 5; n += 1) await Promise.all([a.exchange(), b.exchange()]);
    assert.equal((await a.call('twice', 10)).allowed, 4);
  });

  it('a call that is taken back from a rate is taken back for all workers', async () => {
    const [a, b] = [worker('a'), worker('b')];
    await a.call('back', 10);
    await a.takeBack('back');
    await a.exchange();
    assert.equal((await b.call('back', 1)).allowed, 1);
    await b.exchange();
    assert.equal((await b.call('back', 1)).allowed, 0);
  });

  it('a rate over several workers ends for all at the same time, by the database’s clock', async () => {
    const [a, b] = [worker('a'), worker('b')];
    await a.call('end', 10);
    await a.exchange();
    await sql`update rate_counts set ends_at = now() + interval '20 seconds' where scope like '%/end'`.execute(database.store.tables());
    await b.call('end', 1);
    await b.exchange();
    const { allowed, refusedMs } = await b.call('end', 1);
    assert.equal(allowed, 0);
    assert.ok(refusedMs > 0 && refusedMs <= 20_000, `${refusedMs} ms`);
    // What the others have counted in a window that is over counts no more.
    await sql`update rate_counts set ends_at = now() - interval '1 second'`.execute(database.store.tables());
    const c = worker('c');
    await c.call('end', 1);
    await c.exchange();
    assert.equal((await c.call('end', 9)).allowed, 9);
  });

  it('a rate costs a worker that is alone, or is not called, no statement', async () => {
    const alone = worker('alone', { alone: true });
    await alone.call('alone', 5);
    const before = await rows();
    let statements = 0;
    const count = () => void (statements += 1);
    database.store.observe({ onConnection: () => undefined, onStatement: count });
    await alone.exchange();
    await worker('idle').exchange();
    assert.equal(statements, 0);
    assert.equal(await rows(), before);
  });
});
