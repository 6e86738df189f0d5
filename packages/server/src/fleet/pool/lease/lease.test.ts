import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { sql } from 'kysely';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { Tables } from '../../../store/store.ts';
import { testStore, type TestStore } from '../../../../testing/test-store.ts';
import { DuplicateWorkerError, Lease, leaseTiming, type LeaseDeps } from './lease.ts';
import { holdLease, lostWorkers, readLease, takeLease } from '../store.ts';
import { beat, reportOf } from '../../../../testing/pool.ts';

let database: TestStore;
const clock = new ManualClock();
before(async () => {
  database = await testStore();
});
beforeEach(async () => {
  await sql`delete from workers`.execute(database.store.tables());
});
after(() => database.drop());

/** A lease with a connection that can be cut. */
class TestLease {
  readonly lease: Lease;
  readonly taken: string[] = [];
  readonly fenced: string[] = [];
  isCut = false;
  ended: Promise<void> = Promise.resolve();

  constructor(workerId: string, more: Partial<LeaseDeps> = {}) {
    const store: Tables = {
      tables: <T>() => {
        if (this.isCut) throw new ServiceError('store_unavailable', 'cut');
        return database.store.tables<T>();
      },
    };
    this.lease = new Lease({
      store,
      clock,
      log: silentLog,
      workerId,
      dataFolder: `folder of ${workerId}`,
      timing: leaseTiming(8000),
      describe: () => reportOf({ workerId, url: 'http://elsewhere.test' }),
      onReply: () => undefined,
      ...more,
    });
    this.lease.onTaken((workerIds) => void this.taken.push(...workerIds));
    this.lease.onFenced((reason) => {
      this.fenced.push(reason);
      return this.ended;
    });
  }

  async beat(): Promise<void> {
    this.lease.heartbeat.nudge();
    await this.lease.heartbeat.idle();
  }

  get hasFailed(): boolean {
    return this.lease.heartbeat.status.lastError !== null;
  }
}

async function joined(...workerIds: string[]): Promise<TestLease[]> {
  const leases = workerIds.map((workerId) => new TestLease(workerId));
  for (const { lease } of leases) await lease.join();
  return leases;
}

/** Workers that can ask each other. */
async function inTouch(...workerIds: string[]): Promise<TestLease[]> {
  const leases = await joined(...workerIds);
  for (const { lease } of leases)
    lease.askBy(() => Promise.resolve(leases.filter((each) => each.lease !== lease).map((each) => each.lease.viewAgeMs)));
  return leases;
}

/** Seconds pass, in each of which these workers write a heartbeat. */
async function pass(seconds: number, ...beating: TestLease[]): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    for (const each of beating) await each.beat();
    // As the timer does, whatever the heartbeats wait for.
    for (const { lease } of beating) lease.check();
    await Promise.resolve();
  }
}

describe('the lease of a worker that was killed', () => {
  it('the lease of a worker that was killed is taken by one of the others within ten seconds', async () => {
    const [one, two, dead] = (await joined('wrk_a', 'wrk_b', 'wrk_c')) as [TestLease, TestLease, TestLease];
    await pass(3, one, two, dead);
    await pass(8, one, two);
    assert.deepEqual(await lostWorkers(database.store), []);
    await pass(1, one, two);
    assert.deepEqual(await lostWorkers(database.store), ['wrk_c']);
    assert.deepEqual([...one.taken, ...two.taken], ['wrk_c']);
    assert.deepEqual([one.fenced, two.fenced], [[], []]);
  });

  it('the lease of a worker that was killed is taken when all others are lost but one, in a fleet where each watches only some', async () => {
    const ids = Array.from({ length: 24 }, (_, n) => `wrk_${String(n).padStart(2, '0')}`);
    const leases = await joined(...ids);
    const last = leases[7] ?? assert.fail();
    await pass(1, ...leases);
    await pass(30, last);
    assert.deepEqual(
      (await lostWorkers(database.store)).toSorted(),
      ids.filter((id) => id !== 'wrk_07'),
    );
  });

  it('the lease of a worker that was killed is its own again at its next start at once, in a new epoch', async () => {
    const [, dead] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    const restarted = new TestLease('wrk_b');
    await restarted.lease.join();
    await dead.beat();
    assert.deepEqual(dead.fenced, ['lease_taken'], 'the process before it, should it still run');
    await restarted.beat();
    assert.deepEqual(restarted.fenced, []);
  });
});

describe('a database that is away', () => {
  it('a database that is away makes no worker lost, however long it takes', async () => {
    const [one, two] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(3, one, two);
    for (const each of [one, two]) each.isCut = true;
    await pass(5, one, two);
    assert.ok(one.hasFailed && two.hasFailed);
    for (const each of [one, two]) each.isCut = false;
    // The other one is the slower to come back.
    await pass(7, one);
    await pass(3, one, two);
    assert.deepEqual([one.taken, two.taken], [[], []]);
  });

  it('a database that is away for five seconds ends no browser', async () => {
    const [one, two] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(3, one, two);
    one.isCut = two.isCut = true;
    await pass(5, one, two);
    clock.advance(999);
    one.isCut = two.isCut = false;
    await Promise.all([one.beat(), two.beat()]);
    assert.deepEqual([one.fenced, two.fenced], [[], []]);
  });

  it('a database that is away for minutes ends no browser, where the others say that it is away for them, too', async () => {
    const [one, two, three] = (await inTouch('wrk_a', 'wrk_b', 'wrk_c')) as [TestLease, TestLease, TestLease];
    const all = [one, two, three];
    await pass(10, ...all);
    for (const each of all) each.isCut = true;
    await pass(120, ...all);
    for (const each of all) each.isCut = false;
    // The others are slower to come back.
    await pass(5, one);
    await pass(12, ...all);
    assert.deepEqual(
      all.map(({ fenced, taken }) => [fenced, taken]),
      [
        [[], []],
        [[], []],
        [[], []],
      ],
    );
  });

  it("a worker whose database stays away when another's is back ends its browsers, before its lease is taken", async () => {
    const [one, two] = (await inTouch('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(10, one, two);
    one.isCut = two.isCut = true;
    await pass(60, one, two);
    two.isCut = false;
    await pass(8, one, two);
    assert.deepEqual([one.fenced, two.taken], [['no_heartbeat'], []]);
    await pass(2, two);
    assert.deepEqual(two.taken, ['wrk_a']);
  });

  it('a worker without its database ends its browsers when it knows of one without an internal listener', async () => {
    const [one, two, three] = (await inTouch('wrk_a', 'wrk_b', 'wrk_c')) as [TestLease, TestLease, TestLease];
    one.lease.askBy(() => Promise.resolve([two.lease.viewAgeMs]));
    await pass(10, one, two, three);
    one.isCut = two.isCut = three.isCut = true;
    await pass(7, one, two, three);
    assert.deepEqual([one.fenced, two.fenced], [['no_heartbeat'], []]);
  });

  it('a worker without its database ends its browsers when it cannot ask all others', async () => {
    const [one, two] = (await inTouch('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    one.lease.askBy(() => Promise.resolve(null));
    await pass(10, one, two);
    one.isCut = two.isCut = true;
    await pass(7, one, two);
    assert.deepEqual([one.fenced, two.fenced], [['no_heartbeat'], []]);
  });

  it('a database that is away never ends the browsers of a worker that is alone', async () => {
    const [one] = (await joined('wrk_a')) as [TestLease];
    await pass(2, one);
    one.isCut = true;
    await pass(60, one);
    one.lease.check();
    one.isCut = false;
    await pass(1, one);
    assert.deepEqual([one.fenced, one.lease.isFenced], [[], false]);
  });
});

describe('a worker that is cut off or frozen', () => {
  it('a worker that is cut off or frozen ends its browsers before its lease is taken, and joins as new when they have ended', async () => {
    const [one, cut] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(3, one, cut);
    const ending = Promise.withResolvers<void>();
    cut.ended = ending.promise;
    cut.isCut = true;
    let fencedAfter: number | null = null;
    for (let ms = 0; one.taken.length === 0; ms += 250) {
      clock.advance(250);
      cut.lease.check();
      if (cut.fenced.length > 0) fencedAfter ??= ms + 250;
      if (ms % 1000 === 750) await one.beat();
      assert.ok(one.taken.length === 0 || fencedAfter !== null, 'fenced first');
      assert.ok(ms < 10_000, 'it is taken');
    }
    assert.deepEqual([cut.fenced, fencedAfter], [['no_heartbeat'], 6500]);
    assert.throws(
      () => cut.lease.assertHeld(),
      (error) => error instanceof ServiceError && error.code === 'store_unavailable' && (error.retryAfterSeconds ?? 0) > 0,
    );
    cut.isCut = false;
    const rejoining = cut.beat();
    await pass(3, one);
    assert.ok(cut.lease.isFenced, 'its browsers still run');
    ending.resolve();
    await rejoining;
    assert.equal(cut.lease.isFenced, false);
    cut.lease.assertHeld();
    assert.deepEqual(await lostWorkers(database.store), []);
    await pass(20, one, cut);
    assert.deepEqual([one.taken, cut.fenced], [['wrk_b'], ['no_heartbeat']]);
  });

  it('a frozen worker is fenced when it first reads the clock after the freeze', async () => {
    const [one, frozen] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(2, one, frozen);
    await pass(7, one);
    assert.deepEqual(frozen.fenced, []);
    assert.throws(() => frozen.lease.assertHeld());
    assert.deepEqual(frozen.fenced, ['no_heartbeat']);
  });

  it('a frozen worker is fenced by its next heartbeat when its lease was taken all the same', async () => {
    const [one, other] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(1, one, other);
    await sql`update workers set lease_epoch = lease_epoch + 1, lost_heartbeat = heartbeat_at where worker_id = 'wrk_b'`.execute(
      database.store.tables(),
    );
    await other.beat();
    assert.deepEqual(other.fenced, ['lease_taken']);
    await other.beat();
    assert.equal(other.lease.isFenced, false);
  });

  it('a frozen worker takes no lease by what it saw before the freeze', async () => {
    const [one, frozen] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await pass(7, frozen);
    clock.advance(4000);
    await frozen.beat();
    await pass(1, one, frozen);
    assert.deepEqual(frozen.taken, []);
  });
});

describe('a lease that was read', () => {
  it('a lease that was read changes hands once, and only when nothing has changed since', async () => {
    const tables = database.store;
    const [holder] = (await joined('wrk_a')) as [TestLease];
    const read = async () => (await readLease(tables, 'wrk_a')) ?? assert.fail('it has no row');
    const own = { ...reportOf({ workerId: 'wrk_a' }), holder: 'another process', dataFolder: null, leaseMs: 8000 };
    const before = await read();
    await holder.beat();
    assert.deepEqual([await takeLease(tables, before), await holdLease(tables, own, before)], [false, null], 'it has a new heartbeat');
    const current = await read();
    assert.equal(await takeLease(tables, current), true);
    assert.deepEqual([await takeLease(tables, current), await holdLease(tables, own, current)], [false, null], 'it is in a new epoch');
    const lost = await read();
    assert.equal(await takeLease(tables, lost), false, 'it is lost already');
    const epochs = await Promise.all([holdLease(tables, own, lost), holdLease(tables, own, lost)]);
    assert.deepEqual(
      epochs.filter((epoch) => epoch !== null),
      [3],
    );
  });
});

describe('the version of the file of regions', () => {
  it('the version of the file of regions is logged once where another worker has another one', async () => {
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const own = new TestLease('wrk_a', { log });
    await own.lease.join();
    for (const registryVersion of ['builtin', '2', '2', 'builtin', '3']) {
      await beat(database.store, { workerId: 'wrk_b', registryVersion });
      await own.beat();
    }
    assert.deepEqual(
      warnings,
      ['2', '3'].map((version) => ({ worker: 'wrk_b', version, own_version: 'builtin' })),
    );
  });
});

describe('a copied data directory', () => {
  it('a copied data directory is refused while the original serves, with what to do', async () => {
    const [original] = (await joined('wrk_a')) as [TestLease];
    const copy = new TestLease('wrk_a', { dataFolder: 'elsewhere' });
    const refused = assert.rejects(
      copy.lease.join(),
      (error) =>
        error instanceof DuplicateWorkerError && /wrk_a at http:\/\/elsewhere\.test.*Delete the file worker-id/.test(error.message),
    );
    const state = { isSettled: false };
    void refused.catch(() => undefined).finally(() => (state.isSettled = true));
    // However late it reads the row, a heartbeat follows.
    while (!state.isSettled) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      await original.beat();
    }
    await refused;
    assert.deepEqual(original.fenced, []);
  });

  it('a copied data directory takes over from an original that is dead', async () => {
    const [dead] = (await joined('wrk_a')) as [TestLease];
    const copy = new TestLease('wrk_a', { dataFolder: 'elsewhere', timing: { ...leaseTiming(8000), retryMs: 1 } });
    const joining = copy.lease.join();
    const timer = setInterval(() => clock.advance(250), 5);
    await joining.finally(() => clearInterval(timer));
    await dead.beat();
    assert.deepEqual(dead.fenced, ['lease_taken']);
  });
});

describe('a worker that stops', () => {
  it('a worker that stops deletes its row, and not that of another process', async () => {
    const [one, other] = (await joined('wrk_a', 'wrk_b')) as [TestLease, TestLease];
    await one.lease.stop();
    await sql`update workers set lease_epoch = lease_epoch + 1`.execute(database.store.tables());
    await other.lease.stop();
    const { rows } = await sql<{ worker_id: string }>`select worker_id from workers`.execute(database.store.tables());
    assert.deepEqual(rows, [{ worker_id: 'wrk_b' }]);
  });
});

describe('a worker of a version without leases', () => {
  it('a worker of a version without leases is live while it writes heartbeats, and lost after the thirty seconds that it knows', async () => {
    const [one] = (await joined('wrk_b')) as [TestLease];
    const old = sql`insert into workers (worker_id, region, url, started_at, heartbeat_at) values ('wrk_a', 'local', '', now(), clock_timestamp())
      on conflict (worker_id) do update set heartbeat_at = clock_timestamp()`;
    for (let beats = 0; beats < 12; beats += 1) {
      await old.execute(database.store.tables());
      await pass(5, one);
    }
    assert.deepEqual(one.taken, []);
    await pass(27, one);
    assert.deepEqual(one.taken, ['wrk_a']);
    await old.execute(database.store.tables());
    assert.deepEqual(await lostWorkers(database.store), [], 'it has come back');
  });
});
