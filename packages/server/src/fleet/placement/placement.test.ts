import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { ServiceError, WorkerState } from '@berth/contract';
import { sql } from 'kysely';
import { createDatabaseProxy } from '../../../../../tests/services/database-proxy.ts';
import { beat } from '../../../testing/pool.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { openStore, type Tables } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Placement, type PlacementOf } from './placement.ts';
import { reserveRoom } from './store.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());
beforeEach(() => sql`delete from workers`.execute(database.store.tables()));

const clock = new ManualClock();

interface OwnOptions {
  hasPeers?: boolean;
  state?: WorkerState;
  owned?: Record<string, number>;
  pin?: string;
  pinOf?: () => Promise<string | null>;
  sessionsByWorker?: () => Promise<Map<string, number>>;
}

function placementOf(workerId: string, { hasPeers = true, state = 'active', owned = {}, pin, ...own }: OwnOptions = {}) {
  const placement = new Placement({
    store: database.store,
    clock,
    log: silentLog,
    fleet: { lastHeartbeat: { state, drainSecondsLeft: null, hasPeers } },
    workerId,
    region: 'local',
    isRegion: (code) => code === 'local' || code === 'far',
    pinOf: () => Promise.resolve(pin ?? null),
    sessionsByWorker: () => Promise.resolve(new Map(Object.entries(owned))),
    ...own,
  });
  const place = async (work: Partial<PlacementOf> = {}): Promise<readonly string[]> => {
    const { workerIds, isPinned } = await placement.candidates({
      work: 'session',
      owner: 'o',
      kind: 'headless',
      region: undefined,
      ...work,
    });
    assert.equal(isPinned, pin !== undefined);
    return workerIds;
  };
  const store = async (): Promise<void> => {
    placement.reservations.nudge();
    await placement.reservations.idle();
  };
  return Object.assign(place, { store });
}

const countFirsts = (candidates: readonly (readonly string[])[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const [first = ''] of candidates) counts[first] = (counts[first] ?? 0) + 1;
  return counts;
};
const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, work));
const reserved = async (): Promise<Record<string, number>> => {
  const { rows } = await sql<{ id: string; n: number }>`select worker_id as id, reserved_now + reserved_before as n from workers`.execute(
    database.store.tables(),
  );
  return Object.fromEntries(rows.map(({ id, n }) => [id, n]));
};

describe('where a session runs', () => {
  it('a session is placed here where there is no other worker, without a statement', async () => {
    await beat(database.store, { workerId: 'b' });
    let statements = 0;
    const count = () => void (statements += 1);
    database.store.observe({ onConnection: count, onStatement: count });
    assert.deepEqual(await placementOf('a', { hasPeers: false })(), ['a']);
    assert.equal(statements, 0);
    assert.deepEqual(await placementOf('a')(), ['b']);
    assert.ok(statements > 0);
  });

  it('placement is atomic: bursts at three workers fill all of them, and none beyond its room', async () => {
    const ids = ['a', 'b', 'c'];
    for (const workerId of ids) await beat(database.store, { workerId, sessionsMax: 10 });
    const workers = ids.map((id) => placementOf(id));
    const candidates = (await Promise.all(workers.map((place) => times(10, place)))).flat();
    assert.deepEqual(countFirsts(candidates), { a: 10, b: 10, c: 10 });
    assert.deepEqual(await reserved(), { a: 10, b: 10, c: 10 });
    assert.ok(candidates.every((each) => new Set(each).size === each.length));
    // All are full by now: they are tried all the same, and nothing more is reserved.
    assert.ok((await placementOf('a')()).length > 0);
    assert.deepEqual(await reserved(), { a: 10, b: 10, c: 10 });
  });

  it('placement passes over a worker whose row another placement is reserving in', async () => {
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId });
    const options = { silentSeconds: 30, wait: false };
    await database.store.transaction(async (tx) => {
      assert.equal(await reserveRoom(tx, ['a', 'b'], options), 'a');
      assert.equal(await reserveRoom(database.store, ['a', 'b'], options), 'b');
    });
    assert.deepEqual(await reserved(), { a: 1, b: 1 });
  });

  it('placements do not deadlock, however many want the last places', async () => {
    const ids = ['a', 'b', 'c'];
    for (let round = 0; round < 10; round += 1) {
      for (const workerId of ids) for (let n = 0; n < 2; n += 1) await beat(database.store, { workerId, sessionsMax: 2 });
      await Promise.all(ids.map((id) => times(4, placementOf(id))));
      assert.deepEqual(await reserved(), { a: 2, b: 2, c: 2 });
    }
  });

  it('a reservation for a session is forgotten after two heartbeats of the worker', async () => {
    await beat(database.store, { workerId: 'b', sessionsMax: 1 });
    assert.deepEqual(await placementOf('a')(), ['b']);
    await beat(database.store, { workerId: 'b', sessionsMax: 1 });
    assert.deepEqual(await reserved(), { b: 1 });
    await beat(database.store, { workerId: 'b', sessionsMax: 1 });
    assert.deepEqual(await reserved(), { b: 0 });
  });

  it('a session is not placed on a worker that is cordoned, drains, stops, is silent, or whose row is of an older version', async () => {
    for (const workerId of ['a', 'b', 'c', 'd', 'e']) await beat(database.store, { workerId });
    await beat(database.store, { workerId: 's', isStopping: true });
    const db = database.store.tables();
    await sql`update workers set state = 'cordoned' where worker_id = 'b'`.execute(db);
    await sql`update workers set state = 'draining' where worker_id = 'c'`.execute(db);
    await sql`update workers set heartbeat_at = now() - interval '1 hour' where worker_id = 'd'`.execute(db);
    await sql`update workers set kinds = default, sessions_max = default, admitting = default where worker_id = 'e'`.execute(db);
    assert.deepEqual(await placementOf('a')(), ['a']);
  });

  it('a session is placed on a worker of the region, and here where none of it lives', async () => {
    await beat(database.store, { workerId: 'a' });
    await beat(database.store, { workerId: 'f', region: 'far' });
    assert.deepEqual(await placementOf('a')({ region: 'far' }), ['f']);
    assert.deepEqual(await placementOf('a')({ region: 'unknown' }), ['a']);
    await sql`delete from workers where worker_id = 'f'`.execute(database.store.tables());
    assert.deepEqual(await placementOf('a')({ region: 'far' }), ['a']);
  });

  it('sessions are spread over workers by owner', async () => {
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId, sessionsMax: 100 });
    assert.deepEqual((await placementOf('a', { owned: { a: 4 } })())[0], 'b');
  });

  it('sessions are spread within the second in which nothing is read again: what was placed counts', async () => {
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId, sessionsMax: workerId === 'a' ? 1000 : 200 });
    const place = placementOf('a');
    const firsts: string[] = [];
    for (let n = 0; n < 6; n += 1) firsts.push((await place())[0] ?? '');
    // By room alone, all would be on the larger one.
    assert.deepEqual(countFirsts(firsts.map((id) => [id])), { a: 3, b: 3 });
  });

  it('a placement uses what was read within the last second: then the reservation is the only statement', async () => {
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId });
    let reads = 0;
    const place = placementOf('a', { sessionsByWorker: () => Promise.resolve(((reads += 1), new Map())) });
    await place();
    const operations: string[] = [];
    database.store.observe({ onConnection: () => undefined, onStatement: (operation) => operations.push(operation) });
    await place();
    assert.deepEqual({ operations, reads }, { operations: ['update'], reads: 1 });
    clock.advance(1000);
    await place();
    assert.deepEqual({ operations: operations.toSorted(), reads }, { operations: ['select', 'update', 'update'], reads: 2 });
  });

  it('a place is reserved later where there is plenty of room: without a statement, and counted by this worker at once', async () => {
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId, sessionsMax: 100 });
    const place = placementOf('a');
    await place();
    const operations: string[] = [];
    database.store.observe({ onConnection: () => undefined, onStatement: (operation) => operations.push(operation) });
    const firsts = [await place(), await place(), await place()];
    assert.deepEqual(operations, []);
    assert.equal(Math.max(...Object.values(countFirsts(firsts))), 2);
    // What is read again has them, though no row does.
    clock.advance(1000);
    await place();
    assert.deepEqual(await reserved(), { a: 0, b: 0 });
    const more = await times(5, () => place());
    assert.equal(Math.max(...Object.values(countFirsts(more))), 3);
    await place.store();
    assert.deepEqual(await reserved(), { a: 5, b: 5 });
    await place.store();
    assert.deepEqual(await reserved(), { a: 5, b: 5 });
    // From half of the room on, it is reserved before.
    for (const workerId of ['a', 'b']) await beat(database.store, { workerId, sessionsMax: 100, sessions: 46 });
    operations.length = 0;
    await placementOf('a')();
    assert.deepEqual(operations.filter((each) => each === 'update').length, 1);
  });

  it('candidates for a placement are read beside the pin of the owner', { timeout: 10_000 }, async () => {
    await beat(database.store, { workerId: 'b' });
    const { promise: read, resolve: onRead } = Promise.withResolvers<void>();
    const sessionsByWorker = () => (onRead(), Promise.resolve(new Map<string, number>()));
    const place = placementOf('a', { pinOf: () => read.then(() => null), sessionsByWorker });
    assert.deepEqual(await place(), ['b']);
  });

  it('a place is reserved without waiting for the disk, by a setting that ends with the statement', async () => {
    await beat(database.store, { workerId: 'a' });
    const setting = async (tx: Tables): Promise<unknown> =>
      (await sql`select current_setting('synchronous_commit') as commit`.execute(tx.tables())).rows;
    await database.store.transaction(async (tx) => {
      await sql`set local synchronous_commit = 'on'`.execute(tx.tables());
      await reserveRoom(tx, ['a'], { silentSeconds: 30, wait: true });
      assert.deepEqual(await setting(tx), [{ commit: 'off' }]);
      await sql`set local synchronous_commit = 'remote_apply'`.execute(tx.tables());
      await reserveRoom(tx, ['a'], { silentSeconds: 30, wait: true });
      assert.deepEqual(await setting(tx), [{ commit: 'remote_apply' }]);
    });
    const before = await setting(database.store);
    await reserveRoom(database.store, ['a'], { silentSeconds: 30, wait: true });
    assert.deepEqual(await setting(database.store), before);
  });

  it('a session is placed here where the database is unavailable', async () => {
    await beat(database.store, { workerId: 'b', fleetAddress: '127.0.0.1:1' });
    const proxy = await createDatabaseProxy(database.url);
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-placement-'));
    const cut = await openStore({ databaseUrl: proxy.url, dataDir, log: silentLog });
    await proxy.cut();
    const placement = new Placement({
      store: cut,
      clock,
      log: silentLog,
      fleet: { lastHeartbeat: { state: 'active', drainSecondsLeft: null, hasPeers: true } },
      workerId: 'a',
      region: 'local',
      isRegion: () => true,
      pinOf: (owner) => Promise.resolve(owner === 'pinned' ? 'b' : null),
      sessionsByWorker: () => Promise.resolve(new Map()),
    });
    const place = (owner: string) => placement.candidates({ work: 'session', owner, kind: 'headless', region: undefined });
    assert.deepEqual(await place('o'), { workerIds: ['a'], isPinned: false });
    await assert.rejects(place('pinned'), { code: 'store_unavailable' });
    await proxy.restore();
    assert.deepEqual((await place('o')).workerIds, ['b']);
    // What could not be stored then is not stored later.
    for (const workerId of ['c', 'd']) await beat(database.store, { workerId, sessionsMax: 1000 });
    clock.advance(1000);
    for (let n = 0; n < 4; n += 1) await place('o');
    await proxy.cut();
    placement.reservations.nudge();
    await placement.reservations.idle();
    assert.equal(placement.reservations.status.failures, 1);
    await proxy.restore();
    placement.reservations.nudge();
    await placement.reservations.idle();
    assert.equal(placement.reservations.status.failures, 0);
    assert.deepEqual(await reserved(), { b: 1, c: 0, d: 0 });
    await cut.close();
    await proxy.close();
    rmSync(dataDir, { recursive: true });
  });
});

describe('where a fetch runs', () => {
  it('a fetch runs here as long as there is room, and reserves nothing', async () => {
    await beat(database.store, { workerId: 'a', sessions: 5 });
    await beat(database.store, { workerId: 'b' });
    assert.deepEqual(await placementOf('a')({ work: 'fetch' }), ['a']);
    await beat(database.store, { workerId: 'a', admitting: false });
    assert.deepEqual(await placementOf('a')({ work: 'fetch' }), ['b', 'a']);
    assert.deepEqual(await reserved(), { a: 0, b: 0 });
  });
});

describe('where new work of a pinned owner runs', () => {
  const b = { workerId: 'b', fleetAddress: '127.0.0.1:1' };

  it('new work of a pinned owner runs on that worker alone, whatever its region and its room, with room reserved for a session', async () => {
    await beat(database.store, { workerId: 'a' });
    await beat(database.store, { ...b, region: 'far', sessionsMax: 1 });
    assert.deepEqual(await placementOf('a', { pin: 'b' })(), ['b']);
    assert.deepEqual(await reserved(), { a: 0, b: 1 });
    assert.deepEqual(await placementOf('a', { pin: 'b' })({ region: 'local' }), ['b']);
    assert.deepEqual(await placementOf('a', { pin: 'b' })({ work: 'fetch' }), ['b']);
    assert.deepEqual(await reserved(), { a: 0, b: 1 });
    assert.deepEqual(await placementOf('b', { pin: 'b', hasPeers: false })(), ['b']);
  });

  it('new work of a pinned owner runs nowhere while that worker is cordoned, drains, stops, is silent, was never there or cannot be reached', async () => {
    await beat(database.store, { workerId: 'a' });
    const db = database.store.tables();
    const refuse = (code: string, message: RegExp, hasPeers = true) =>
      assert.rejects(
        placementOf('a', { pin: 'b', hasPeers })(),
        (error: ServiceError) => error.code === code && message.test(error.message),
      );
    await refuse('no_capacity', /does not run now.*unpin/);
    await refuse('no_capacity', /does not run now/, false);
    await beat(database.store, { workerId: 'b' });
    await refuse('no_capacity', /does not run now/);
    await beat(database.store, b);
    await sql`update workers set state = 'cordoned' where worker_id = 'b'`.execute(db);
    await refuse('draining', /is cordoned.*unpin/);
    await sql`update workers set state = 'draining' where worker_id = 'b'`.execute(db);
    await refuse('draining', /drains/);
    await sql`update workers set state = 'active' where worker_id = 'b'`.execute(db);
    await beat(database.store, { ...b, isStopping: true });
    await refuse('draining', /drains/);
    await beat(database.store, b);
    await sql`update workers set heartbeat_at = now() - interval '1 hour' where worker_id = 'b'`.execute(db);
    await refuse('no_capacity', /does not run now/);
    await assert.rejects(placementOf('b', { pin: 'b', state: 'cordoned' })(), { code: 'draining' });
    assert.deepEqual(await reserved(), { a: 0, b: 0 });
  });
});
