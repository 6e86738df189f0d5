import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { endSession, getPool, type PoolResponse } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { betweenTurns, eventually, startApp, type TestApp } from '../../harness.ts';
import { startingSession } from '../../contract/session-states.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock, environment: { BERTH_POOL_TARGET: '2' } });
  await eventually('the pool is full', () => served.app.fleet.count('ready') === 2);
});
after(() => served.close());

const pool = async (from: TestApp = served): Promise<PoolResponse> => (await from.call(getPool)).body;
const lose = (from: TestApp, workerId: string, agoSeconds: number): Promise<unknown> => {
  const heartbeat_at = new Date(Date.now() - agoSeconds * 1000);
  return from.app.fleet.deps.store
    .tables<{ workers: { worker_id: string; heartbeat_at: Date; lost_heartbeat: Date } }>()
    .updateTable('workers')
    .set({ heartbeat_at, lost_heartbeat: heartbeat_at })
    .where('worker_id', '=', workerId)
    .execute();
};

describe('200', () => {
  it('GET /admin/pool returns the default target', async () => {
    const { object, region, target, targets, updated_at, updated_by } = await pool();
    const unset = { updated_at: null, updated_by: null };
    assert.deepEqual(
      { object, region, target, targets, updated_at, updated_by },
      {
        object: 'pool',
        region: 'local',
        target: 2,
        targets: { headless: { target: 2, ...unset }, full_browser: { target: 0, ...unset } },
        ...unset,
      },
    );
  });

  it('GET /admin/pool returns each machine with its worker, kind, idle time and resources', async () => {
    clock.advance(12_345);
    const { vms, counts, worker } = await pool();
    assert.deepEqual(counts, { warming: 0, ready: 2, assigned: 0, draining: 0, failed: 0 });
    const [{ vm_id, ...vm } = assert.fail()] = vms;
    assert.match(vm_id, /^vm_/);
    assert.deepEqual(vm, {
      state: 'ready',
      kind: 'headless',
      session_id: null,
      worker_id: worker.worker_id,
      created_at: '2026-01-01T00:00:00.000Z',
      idle_seconds: 12.345,
      memory_bytes: 100 * 1024 ** 2,
      runtime: 'fake',
      outdated: false,
    });
  });

  it('GET /admin/pool returns the session of a machine in use, without an idle time', async () => {
    const { session_id } = await served.create();
    const { vms } = await pool();
    const used = vms.find((vm) => vm.session_id === session_id);
    assert.deepEqual([used?.state, used?.idle_seconds], ['assigned', null]);
    await served.call(endSession, { params: { session_id } });
  });

  it('GET /admin/pool returns a starting machine with its purpose', async () => {
    await eventually('the pool is full', () => served.app.fleet.count('ready') === 2 && served.app.fleet.count('warming') === 0);
    const { sessionId, release } = await startingSession(served, { kind: 'full_browser' });
    await eventually('it is starting', async () => (await pool()).counts.warming === 1);
    const { vms, counts } = await pool();
    assert.deepEqual(
      vms.filter(({ state }) => state === 'warming').map(({ kind, session_id, memory_bytes }) => [kind, session_id, memory_bytes]),
      [['full_browser', sessionId, null]],
    );
    assert.equal(counts.ready, 2);
    await release();
  });

  it('GET /admin/pool returns the answering worker’s runtime and whether it has capacity', async () => {
    const { worker } = await pool();
    const { pressure, ...rest } = worker;
    assert.deepEqual(rest, {
      worker_id: worker.worker_id,
      runtime: 'fake',
      isolation: 'process',
      warnings: [],
      templates: (['headless', 'full_browser'] as const).map((kind) => ({ kind, method: 'process', failures: 0, note: null })),
    });
    assert.match(worker.worker_id, /^wrk_/);
    assert.deepEqual([pressure.admitting, pressure.reason, pressure.waiting], [true, null, 0]);
    assert.ok(pressure.memory_available_bytes === null || pressure.memory_available_bytes > 0);
  });

  it('GET /admin/pool returns the machines of other workers, and marks those of lost workers as failed', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const other = await startApp({ previous: { dataDir, databaseUrl: served.databaseUrl, runtime: createFakeRuntime() } });
    try {
      await other.create();
      const { worker_id } = (await pool(other)).worker;
      const theirs = async () => (await pool()).vms.filter((vm) => vm.worker_id === worker_id);
      const [vm] = await theirs();
      assert.deepEqual([vm?.state, vm?.kind, vm?.runtime, vm?.memory_bytes], ['assigned', 'headless', 'fake', null]);
      await other.app.fleet.heartbeat.stop();
      await lose(served, worker_id, 60);
      assert.deepEqual([(await theirs())[0]?.state, (await pool()).counts.failed], ['failed', 1]);
      served.app.fleet.reaper.nudge();
      await served.app.fleet.reaper.idle();
      assert.equal((await theirs()).length, 1, 'it may come back');
      await lose(served, worker_id, 601);
      served.app.fleet.reaper.nudge();
      await served.app.fleet.reaper.idle();
      assert.deepEqual(await theirs(), []);
    } finally {
      await other.close();
      rmSync(dataDir, { recursive: true });
    }
  });

  it('GET /admin/pool marks recorded but unheld machines as failed until the reaper runs', async () => {
    const { reaper, deps } = served.app.fleet;
    const { store, region, workerId } = deps;
    const row = { vm_id: 'vm_left', worker_id: workerId, region, kind: 'headless', state: 'assigned', created_at: clock.now() };
    const insert = store.tables<{ machines: Record<keyof typeof row, unknown> }>().insertInto('machines').values(row);
    const left = async () => (await pool()).vms.find(({ vm_id }) => vm_id === 'vm_left')?.state;
    const state = await betweenTurns(reaper, async () => {
      await insert.onConflict((conflict) => conflict.doNothing()).execute();
      return left();
    });
    assert.equal(state, 'failed');
    reaper.nudge();
    await reaper.idle();
    assert.equal(await left(), undefined);
  });

  it('GET /admin/pool does not inspect machines on every request', async () => {
    // A machine that is still starting or ending is inspected, too.
    const { fleet } = served.app;
    await eventually('the pool is full', () => fleet.count('ready') === 2 && fleet.count('warming') + fleet.count('draining') === 0);
    let inspections = 0;
    for (const vm of served.runtime.machines.values()) {
      const stats = vm.stats.bind(vm);
      vm.stats = () => ((inspections += 1), stats());
    }
    // The pings inspect machines, too.
    await betweenTurns(fleet.pings, async () => {
      clock.advance(5000);
      inspections = 0;
      await Promise.all(Array.from({ length: 20 }, () => pool()));
    });
    assert.equal(inspections, 2);
  });
});
