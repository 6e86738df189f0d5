/** The warm pool: idle machines that are leased once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getPool, getSession, health, resizePool, type PoolKind, type PoolResponse } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { readMetrics } from '../../../packages/server/testing/ops.ts';
import { adminKey, eventually, startApp, type TestApp } from '../../harness.ts';
import { machinesLeft, nothingLeft } from '../../contract/session-states.ts';

const target = 2;
let served: TestApp;
before(async () => {
  served = await startApp({ environment: { BERTH_POOL_TARGET: String(target) } });
});
after(() => served.close());

const poolHas = (app: TestApp, count: number, kind?: PoolKind) =>
  eventually(
    `${count} machines are warm`,
    () => app.app.fleet.count('ready', kind) === count && app.app.fleet.count('warming') === 0,
    // Each may wait ten seconds for idle processors while a session runs or ends.
    60_000,
  );
const poolIsFull = () => poolHas(served, target);
const resize = async (app: TestApp, size: number, kind?: PoolKind): Promise<PoolResponse> => {
  const { status, body, text } = await app.call(resizePool, { body: { target: size, ...(kind ? { kind } : {}) } });
  assert.equal(status, 200, text);
  return body;
};
/** One of the pool: the machine of a session that has just ended may still be there. */
const warmMachine = (): FakeVm => {
  const [id = ''] = [...served.app.fleet.slots].find(([, { state }]) => state === 'ready') ?? [];
  return served.runtime.machines.get(id) ?? assert.fail('no machine is warm');
};
const end = (app: TestApp, session_id: string) => app.call(endSession, { params: { session_id } });

async function figure(app: TestApp, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${app.url}/metrics`, { headers: { 'x-admin-key': adminKey } })).text();
  return readMetrics(text)
    .get(series.split('{')[0] ?? '')
    ?.samples.get(series);
}

describe('a warm machine', () => {
  it('a warm machine is ready soon after the start and counted by /health', async () => {
    await poolIsFull();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /2 warm/);
  });

  it('a warm machine is leased to a session, which reports it, and replaced', async () => {
    await poolIsFull();
    const session = await served.create();
    assert.equal(session.warm, true);
    await end(served, session.session_id);
    assert.equal((await served.call(getSession, { params: { session_id: session.session_id } })).body.warm, true);
    await poolIsFull();
  });

  it('a warm machine is leased to only one of several concurrent sessions', async () => {
    await poolIsFull();
    const sessions = await Promise.all(Array.from({ length: 6 }, () => served.create()));
    const machines = sessions.map(({ session_id }) => served.app.sessions.live.get(session_id)?.machine?.id);
    assert.equal(new Set(machines).size, 6);
    assert.ok(sessions.filter(({ warm }) => warm).length >= target);
    await Promise.all(sessions.map(({ session_id }) => end(served, session_id)));
  });

  it('a warm machine is never reused after a session', async () => {
    await poolIsFull();
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id);
    const used = session?.machine?.id ?? '';
    await end(served, session_id);
    await session?.disposed;
    assert.ok(!served.runtime.machines.has(used));
    await poolIsFull();
    assert.ok(![...served.app.fleet.slots.keys()].includes(used));
  });

  it('a warm machine that crashes while idle is replaced and never leased', async () => {
    await poolIsFull();
    const lost = (await figure(served, 'berth_pool_retired_total{reason="lost"}')) ?? 0;
    const doomed = warmMachine();
    doomed.crash();
    await eventually('the crashed machine has ended', () => !served.app.fleet.slots.has(doomed.id));
    await poolIsFull();
    assert.equal(await figure(served, 'berth_pool_retired_total{reason="lost"}'), lost + 1);
    const { session_id, status } = await served.create();
    assert.equal(status, 'ready');
    await end(served, session_id);
  });

  it('a warm machine whose browser does not respond is detected, replaced and counted', async () => {
    await poolIsFull();
    const lost = (await figure(served, 'berth_pool_retired_total{reason="lost"}')) ?? 0;
    const frozen = warmMachine();
    frozen.freeze();
    served.app.fleet.pings.nudge();
    await eventually('the frozen machine has ended', () => !served.app.fleet.slots.has(frozen.id), 30_000);
    await poolIsFull();
    assert.equal(await figure(served, 'berth_pool_retired_total{reason="lost"}'), lost + 1);
  });

  it('a warm machine has the kind that the session requests', async () => {
    await poolIsFull();
    assert.equal((await resize(served, 1, 'full_browser')).targets.full_browser.target, 1);
    await poolHas(served, 1, 'full_browser');
    const session = await served.create({ kind: 'full_browser' });
    assert.equal(session.warm, true);
    await end(served, session.session_id);
    await resize(served, 0, 'full_browser');
    await poolIsFull();
  });
});

describe('a target that changes a hundred times while sessions start and end', () => {
  it('a target that changes a hundred times while sessions start and end loses no machine, ends none in use, and is reached', async () => {
    const app = await startApp();
    try {
      app.runtime.delayBoot(5);
      const resizing = new AbortController();
      const startAndEnd = async (): Promise<number> => {
        let sessions = 0;
        for (; !resizing.signal.aborted; sessions += 1) {
          const { session_id } = await app.create();
          const { body } = await app.call(getSession, { params: { session_id } });
          assert.equal(body.status, 'ready', 'a machine in use is not ended');
          const { status, text } = await end(app, session_id);
          assert.equal(status, 204, text);
        }
        return sessions;
      };
      const callers = [startAndEnd(), startAndEnd(), startAndEnd()];
      for (let n = 0; n < 100; n += 1) await resize(app, n % 2 ? (n * 7) % 11 : 0);
      resizing.abort();
      assert.ok((await Promise.all(callers)).every((sessions) => sessions > 0));
      await resize(app, 4);
      // Four may also be on the way down from an earlier target.
      const four = JSON.stringify({ onHost: 4, berths: 4, live: 0 });
      await eventually(
        'there are four',
        async () => app.app.fleet.count('ready') === 4 && JSON.stringify(await machinesLeft(app)) === four,
      );
      const { body } = await app.call(getPool);
      assert.deepEqual(body.counts, { warming: 0, ready: 4, assigned: 0, draining: 0, failed: 0 });
      assert.equal(app.runtime.counts.booted - app.runtime.counts.destroyed, 4);
      await resize(app, 0);
      await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(app)) === JSON.stringify(nothingLeft));
      assert.deepEqual((await app.call(getPool)).body.vms, []);
    } finally {
      await app.close();
    }
  });
});

describe('the pool of a region', () => {
  it('the pool of a region keeps the operator’s target after a restart', async () => {
    const runtime = createFakeRuntime();
    const first = await startApp({ environment: { BERTH_POOL_TARGET: '5' } });
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const start = () =>
      startApp({
        previous: { dataDir, databaseUrl: first.databaseUrl, runtime },
        environment: { BERTH_REGION: 'other', BERTH_POOL_TARGET: '5' },
      });
    try {
      const second = await start();
      await resize(second, 1);
      await poolHas(second, 1);
      await second.close();
      const third = await start();
      await poolHas(third, 1);
      assert.deepEqual([(await third.call(getPool)).body.target, third.runtime.machines.size], [1, 1]);
      await third.close();
    } finally {
      await first.close();
      rmSync(dataDir, { recursive: true });
    }
  });

  it('the pool of a region is shared by all its workers, which apply a change within seconds', async () => {
    const first = await startApp();
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const second = await startApp({ previous: { dataDir, databaseUrl: first.databaseUrl, runtime: createFakeRuntime() } });
    const sizes = () => [first, second].map((each) => each.app.fleet.count('ready')).toSorted((one, other) => one - other);
    try {
      const inSteps = async (size: number, expected: number[]): Promise<void> => {
        await resize(first, size);
        await eventually(`${size} are shared`, () => JSON.stringify(sizes()) === JSON.stringify(expected), 20_000);
      };
      await inSteps(5, [2, 3]);
      const { body } = await second.call(getPool);
      assert.deepEqual([body.target, body.counts.ready, body.updated_by], [5, 5, 'operator']);
      const foreign = body.vms.filter(({ worker_id }) => worker_id !== body.worker.worker_id);
      assert.deepEqual([...new Set(foreign.map(({ state, memory_bytes }) => `${state} ${memory_bytes}`))], ['ready null']);
      await inSteps(1, [0, 1]);
      await inSteps(0, [0, 0]);
    } finally {
      await second.close();
      await first.close();
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe('outdated machines', () => {
  let app: TestApp;
  const clock = new ManualClock();
  before(async () => {
    app = await startApp({ clock, environment: { BERTH_POOL_TARGET: '3' } });
    await poolHas(app, 3);
  });
  after(() => app.close());

  /** Advances past the delay after which the pool grows during a session, also on a busy host. */
  const inTime = (what: string, holds: () => boolean) =>
    eventually(what, () => (clock.advance(500), app.app.fleet.refill.nudge(), holds()), 30_000);

  /** Runs refill iterations until none of these machines is left. Returns the lowest number of warm machines meanwhile. */
  async function renewed(old: ReadonlySet<string>): Promise<number> {
    let fewest = Infinity;
    await inTime('all are replaced', () => {
      fewest = Math.min(fewest, app.app.fleet.count('ready'));
      return app.app.fleet.count('ready') === 3 && [...app.runtime.machines.keys()].every((id) => !old.has(id));
    });
    return fewest;
  }
  const present = (): Set<string> => new Set(app.runtime.machines.keys());

  it('outdated machines are replaced one by one without falling below the target', async () => {
    const old = present();
    app.runtime.upgrade('fake-2');
    assert.equal(await renewed(old), 3);
    assert.ok([...app.runtime.machines.values()].every(({ generation }) => generation === 'fake-2'));
    assert.equal(await figure(app, 'berth_pool_retired_total{reason="outdated"}'), 3);
  });

  it('machines are replaced at their maximum age', async () => {
    const old = present();
    clock.advance(30 * 60_000 + 1);
    assert.equal(await renewed(old), 3);
    assert.equal(await figure(app, 'berth_pool_retired_total{reason="old"}'), 3);
  });

  it('outdated machines are reported, stay with their session, and remain while no new one starts', async () => {
    const { session_id } = await app.create({ timeout_seconds: 3600, idle_timeout_seconds: 3600 });
    await inTime('the pool is full', () => app.app.fleet.count('ready') === 3);
    const used = app.app.sessions.live.get(session_id)?.machine?.id;
    app.runtime.failNextBoot(new Error('a broken image'));
    app.runtime.upgrade('fake-3');
    await inTime('one has failed', () => app.app.fleet.history.failures('headless') === 1);
    const { body } = await app.call(getPool);
    assert.deepEqual(body.vms.map(({ outdated, state }) => `${state} ${outdated}`).toSorted(), [
      'assigned true',
      'ready true',
      'ready true',
      'ready true',
    ]);
    assert.ok(body.vms.some(({ vm_id }) => vm_id === used));
    const rows = () =>
      app.app.fleet.deps.store.tables<{ machines: { outdated: boolean; runtime: string } }>().selectFrom('machines').selectAll().execute();
    const reported = async () => (await rows()).every(({ outdated, runtime }) => outdated && runtime === 'fake');
    // The failed iteration may have begun before the upgrade, so this waits for the next one.
    await eventually('other workers are notified', () => (app.app.fleet.refill.nudge(), reported()));
    const old = present();
    old.delete(used ?? '');
    assert.equal(await renewed(old), 3);
    assert.equal((await app.call(getSession, { params: { session_id } })).body.status, 'ready');
  });
});

describe('machines that fail to start', () => {
  it('machines that fail to start are retried after a delay, reported, and logged once', async () => {
    const clock = new ManualClock();
    const logged: string[] = [];
    const log = { ...silentLog, warn: (_: object, message: string) => void logged.push(message), child: () => log };
    const app = await startApp({ clock, log, environment: { BERTH_POOL_TARGET: '0' } });
    const turn = async () => (app.app.fleet.refill.nudge(), app.app.fleet.refill.idle());
    const failures = async () => (await app.call(getPool)).body.worker.templates.find(({ kind }) => kind === 'headless');
    try {
      await turn();
      for (const [tries, pauseMs] of [1000, 2000, 4000].entries()) {
        app.runtime.failNextBoot(new Error('no such program'));
        // The pool also tries by itself, every second: its pause must not be over before the next boot is one that fails.
        if (tries === 0) await resize(app, 1);
        else clock.advance(1);
        await turn();
        assert.equal((await failures())?.failures, tries + 1);
        clock.advance(pauseMs - 1);
        await turn();
        assert.equal((await failures())?.failures, tries + 1, 'it is too early');
      }
      const sick = await app.call(health);
      assert.deepEqual([sick.status, sick.body.checks['machines']?.status], [503, 'degraded']);
      assert.match((await failures())?.note ?? '', /^The last boot failed at 2026-01-01T00:00:0/);
      await resize(app, 0);
      assert.equal((await app.call(health)).status, 200, 'the pool wants none');
      clock.advance(1);
      await resize(app, 1);
      await turn();
      await poolHas(app, 1);
      assert.deepEqual(await failures(), { kind: 'headless', method: 'process', failures: 0, note: null });
      assert.equal((await app.call(health)).status, 200);
      assert.equal(logged.filter((message) => message === 'machine boot failed').length, 1, logged.join('; '));
      assert.equal(await figure(app, 'berth_machine_boot_failures_total{kind="headless"}'), 3);
      assert.equal(await figure(app, 'berth_machine_boots_total{kind="headless",method="process"}'), 1);
    } finally {
      await app.close();
    }
  });
});

describe('a host whose processors are busy', () => {
  it('a host whose processors are busy fills an empty pool after two seconds, and one that has a machine after ten', async () => {
    const hostReader = () => ({ memoryAvailableBytes: null, memoryStallPercent: 0, cpuStallPercent: 100 });
    const clock = new ManualClock();
    const app = await startApp({ clock, hostReader, environment: { BERTH_POOL_TARGET: '2' } });
    const { fleet } = app.app;
    /** How long it waits for the next machine, by the service's clock. */
    const msUntilWarm = async (count: number): Promise<number> => {
      const sinceMs = clock.monotonicMs();
      await eventually(`${count} are warm`, () => (clock.advance(100), fleet.refill.nudge(), fleet.count('ready') === count), 60_000);
      return clock.monotonicMs() - sinceMs;
    };
    try {
      await poolHas(app, 2);
      const timers = { timeout_seconds: 3600, idle_timeout_seconds: 3600 };
      for (let sessions = 0; sessions < 2; sessions += 1) assert.equal((await app.create(timers)).warm, true);
      const [whenEmpty, whenNot] = [await msUntilWarm(1), await msUntilWarm(2)];
      assert.ok(whenEmpty >= 2000 && whenEmpty < 10_000 && whenNot >= 10_000, `${whenEmpty} and ${whenNot} ms`);
    } finally {
      await app.close();
    }
  });
});

describe('a host without capacity', () => {
  it('a host without capacity starts no machines for the pool and reports why', async () => {
    const hostReader = () => ({ memoryAvailableBytes: 600_000_000, memoryStallPercent: 0, cpuStallPercent: 0 });
    const app = await startApp({ hostReader, environment: { BERTH_POOL_TARGET: '2' } });
    try {
      for (let turn = 0; turn < 3; turn += 1) await (app.app.fleet.refill.nudge(), app.app.fleet.refill.idle());
      const { body } = await app.call(getPool);
      assert.deepEqual([body.target, body.vms.length, body.worker.pressure.admitting], [2, 0, false]);
      assert.match(body.worker.pressure.reason ?? '', /memory/);
      assert.equal(app.runtime.counts.booted, 0);
      assert.equal(await figure(app, 'berth_admitting'), 0);
      await app.refuse(createSession, 'no_capacity', { body: {} });
    } finally {
      await app.close();
    }
  });
});
