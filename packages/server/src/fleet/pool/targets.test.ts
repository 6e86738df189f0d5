import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Audit } from '../../accounts/audit/audit.ts';
import { sql } from 'kysely';
import { ManualClock } from '@berth/lib/clock.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { beat } from '../../../testing/pool.ts';
import { Targets, shareOf } from './targets.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const clock = new ManualClock();
const operator = { actor: 'operator' };

function targetsOf(workerId: string, region: string, { poolTarget = 3, takesWork = true } = {}): Targets {
  const { store } = database;
  return new Targets({ store, audit: new Audit({ store, clock }), clock, workerId, region, poolTarget, takesWork: () => takesWork });
}
const heartbeatOf = (workerId: string, region: string): Promise<unknown> => beat(database.store, { workerId, region });

describe('the shares of a target', () => {
  it('the shares of a target add up to it, and differ by one at most', () => {
    for (const count of [1, 2, 3, 7])
      for (const target of [0, 1, 2, 3, 10, 1000]) {
        const workers = Array.from({ length: count }, (_, n) => `wrk_${n}`).toReversed();
        const shares = workers.map((workerId) => shareOf(target, workers, workerId));
        assert.equal(
          shares.reduce((sum, share) => sum + share, 0),
          target,
        );
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${target} for ${count}`);
      }
  });

  it('the shares of a target are divided among the live workers of the region', async () => {
    const [one, other] = [targetsOf('wrk_a', 'parts'), targetsOf('wrk_b', 'parts')];
    await one.read();
    assert.equal(one.share('headless'), 3, 'it needs no heartbeat of its own');
    await Promise.all([heartbeatOf('wrk_a', 'parts'), heartbeatOf('wrk_b', 'parts'), heartbeatOf('wrk_c', 'elsewhere')]);
    await Promise.all([one.read(), other.read()]);
    assert.deepEqual([one.share('headless'), other.share('headless')], [2, 1]);
    assert.deepEqual([one.share('full_browser'), other.share('full_browser')], [0, 0]);
  });
});

describe('a worker that takes no new sessions', () => {
  it('a worker that takes no new sessions has no share of the target, and the others have all', async () => {
    const [one, other] = [targetsOf('wrk_a', 'cordoned', { takesWork: false }), targetsOf('wrk_b', 'cordoned')];
    await Promise.all([heartbeatOf('wrk_a', 'cordoned'), heartbeatOf('wrk_b', 'cordoned')]);
    await sql`update workers set state = 'cordoned' where worker_id = 'wrk_a'`.execute(database.store.tables());
    await Promise.all([one.read(), other.read()]);
    assert.deepEqual([one.share('headless'), other.share('headless')], [0, 3]);
  });
});

describe('the target of a region', () => {
  it('the target of a region is the configured default until an operator sets it', async () => {
    const targets = targetsOf('wrk_a', 'fresh', { poolTarget: 5 });
    await targets.read();
    assert.deepEqual(targets.of('headless'), { target: 5, updatedAt: null, updatedBy: null });
    assert.deepEqual(targets.of('full_browser'), { target: 0, updatedAt: null, updatedBy: null });
    await targets.set({ kind: 'headless', target: 0, ...operator });
    assert.deepEqual(targets.of('headless'), { target: 0, updatedAt: clock.now(), updatedBy: 'operator' });
  });

  it('the target of a region reaches other workers within seconds, and survives restarts', async () => {
    const [one, other] = [targetsOf('wrk_a', 'shared'), targetsOf('wrk_b', 'shared')];
    await other.refresh();
    await one.set({ kind: 'full_browser', target: 7, ...operator });
    await other.refresh();
    assert.equal(other.of('full_browser').target, 0);
    clock.advance(3000);
    await other.refresh();
    assert.equal(other.of('full_browser').target, 7);
    const restarted = targetsOf('wrk_a', 'shared', { poolTarget: 99 });
    await restarted.refresh();
    assert.deepEqual([restarted.of('full_browser').target, restarted.of('headless').target], [7, 99]);
  });

  it("the target of a region does not change another region's", async () => {
    await targetsOf('wrk_a', 'here').set({ kind: 'headless', target: 9, ...operator });
    const elsewhere = targetsOf('wrk_a', 'there');
    await elsewhere.read();
    assert.equal(elsewhere.of('headless').target, 3);
  });

  it('the target of a region is the last that was set, however many set it at once', async () => {
    const [one, other] = [targetsOf('wrk_a', 'busy'), targetsOf('wrk_b', 'busy')];
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).set({ kind: 'headless', target: n, ...operator })));
    const fresh = targetsOf('wrk_c', 'busy');
    await Promise.all([one.read(), fresh.read()]);
    assert.equal(one.of('headless').target, fresh.of('headless').target);
  });

  it('the target of a region does not change when the new one could not be written', async () => {
    const targets = targetsOf('wrk_a', 'refused');
    await assert.rejects(targets.set({ kind: 'headless', target: 1001, ...operator }));
    await targets.read();
    assert.equal(targets.of('headless').target, 3);
    const audit = new Audit({ store: database.store, clock });
    assert.deepEqual(
      (await audit.list({ action: 'pool.resized', limit: 500 })).filter(({ subject }) => subject === 'refused'),
      [],
    );
  });
});
