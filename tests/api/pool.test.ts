/** The warm pool: machines that wait for an owner, and are never given to a second one. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getPool, getSession, health, resizePool, type PoolKind, type PoolResponse } from '@berth/contract';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { silentLog } from '../../packages/server/src/lib/log.ts';
import { createFakeRuntime } from '../../packages/server/src/runtime/fake/fake.ts';
import { readMetrics } from '../../packages/server/src/ops/testing.ts';
import { adminKey, eventually, startApp, type TestApp } from '../harness.ts';
import { machinesLeft, nothingLeft } from '../session-states.ts';

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
    15_000,
  );
const poolIsFull = () => poolHas(served, target);
const resize = async (app: TestApp, size: number, kind?: PoolKind): Promise<PoolResponse> => {
  const { status, body, text } = await app.call(resizePool, { body: { target: size, ...(kind ? { kind } : {}) } });
  assert.equal(status, 200, text);
  return body;
};
const end = (app: TestApp, session_id: string) => app.call(endSession, { params: { session_id } });

async function figure(app: TestApp, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${app.url}/metrics`, { headers: { 'x-admin-key': adminKey } })).text();
  return readMetrics(text)
    .get(series.split('{')[0] ?? '')
    ?.samples.get(series);
}

describe('a warm machine', () => {
  it('is there soon after the start, and /health counts it', async () => {
    await poolIsFull();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /2 warm/);
  });

  it('is handed out to a session, which says so, and replaced', async () => {
    await poolIsFull();
    const session = await served.create();
    assert.equal(session.warm, true);
    await end(served, session.session_id);
    assert.equal((await served.call(getSession, { params: { session_id: session.session_id } })).body.warm, true);
    await poolIsFull();
  });

  it('is given to one session only, however many ask at once', { timeout: 30_000 }, async () => {
    await poolIsFull();
    const sessions = await Promise.all(Array.from({ length: 6 }, () => served.create()));
    const machines = sessions.map(({ session_id }) => served.app.sessions.live.get(session_id)?.machine?.id);
    assert.equal(new Set(machines).size, 6);
    assert.ok(sessions.filter(({ warm }) => warm).length >= target);
    await Promise.all(sessions.map(({ session_id }) => end(served, session_id)));
  });

  it('never comes back from a session', async () => {
    await poolIsFull();
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id);
    const used = session?.machine?.id ?? '';
    await end(served, session_id);
    await session?.gone;
    assert.ok(!served.runtime.machines.has(used));
    await poolIsFull();
    assert.ok(![...served.app.fleet.berths.keys()].includes(used));
  });

  it('that dies while it waits is replaced and given to nobody', async () => {
    await poolIsFull();
    const lost = (await figure(served, 'berth_pool_retired_total{reason="lost"}')) ?? 0;
    const [doomed] = [...served.runtime.machines.values()];
    doomed?.crash();
    await eventually('the dead machine is gone', () => !served.app.fleet.berths.has(doomed?.id ?? ''));
    await poolIsFull();
    assert.equal(await figure(served, 'berth_pool_retired_total{reason="lost"}'), lost + 1);
    const { session_id, status } = await served.create();
    assert.equal(status, 'ready');
    await end(served, session_id);
  });

  it('whose browser does not answer is found out, replaced and counted', { timeout: 60_000 }, async () => {
    await poolIsFull();
    const lost = (await figure(served, 'berth_pool_retired_total{reason="lost"}')) ?? 0;
    const [frozen] = [...served.runtime.machines.values()];
    frozen?.freeze();
    served.app.fleet.pings.nudge();
    await eventually('the frozen machine is gone', () => !served.app.fleet.berths.has(frozen?.id ?? ''), 30_000);
    await poolIsFull();
    assert.equal(await figure(served, 'berth_pool_retired_total{reason="lost"}'), lost + 1);
  });

  it('is of the kind that a session asks for, where that kind is kept', async () => {
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

describe('a target that is raised and lowered a hundred times while sessions come and go', () => {
  it('loses no machine, ends none that is in use, and is reached in the end', { timeout: 120_000 }, async () => {
    const app = await startApp();
    try {
      app.runtime.delayBoot(5);
      const resizing = new AbortController();
      const comeAndGo = async (): Promise<number> => {
        let sessions = 0;
        for (; !resizing.signal.aborted; sessions += 1) {
          const { session_id } = await app.create();
          const { body } = await app.call(getSession, { params: { session_id } });
          assert.equal(body.status, 'ready', 'nobody ends a machine that is in use');
          const { status, text } = await end(app, session_id);
          assert.equal(status, 204, text);
        }
        return sessions;
      };
      const callers = [comeAndGo(), comeAndGo(), comeAndGo()];
      for (let n = 0; n < 100; n += 1) await resize(app, n % 2 ? (n * 7) % 11 : 0);
      resizing.abort();
      assert.ok((await Promise.all(callers)).every((sessions) => sessions > 0));
      await resize(app, 4);
      await poolHas(app, 4);
      assert.deepEqual(await machinesLeft(app), { onHost: 4, berths: 4, live: 0 });
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
  it('is as the operator left it when a worker is started again', async () => {
    const runtime = createFakeRuntime();
    const first = await startApp({ environment: { BERTH_POOL_TARGET: '5' } });
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const start = () =>
      startApp({
        remains: { dataDir, databaseUrl: first.databaseUrl, runtime },
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

  it('is kept by all its workers together, which hear of a change within seconds', { timeout: 60_000 }, async () => {
    const first = await startApp();
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-pool-'));
    const second = await startApp({ remains: { dataDir, databaseUrl: first.databaseUrl, runtime: createFakeRuntime() } });
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

describe('machines that are not what new ones are', () => {
  let app: TestApp;
  const clock = new ManualClock();
  before(async () => {
    app = await startApp({ clock, environment: { BERTH_POOL_TARGET: '3' } });
    await poolHas(app, 3);
  });
  after(() => app.close());

  /** However busy the host of this test is, the time passes after which the pool grows beside a session. */
  const inTime = (what: string, holds: () => boolean) =>
    eventually(what, () => (clock.advance(500), app.app.fleet.refill.nudge(), holds()), 15_000);

  /** Turns of the refill, until the pool is made of others than these; tells the fewest that were warm meanwhile. */
  async function renewed(old: ReadonlySet<string>): Promise<number> {
    let fewest = Infinity;
    await inTime('all are replaced', () => {
      fewest = Math.min(fewest, app.app.fleet.count('ready'));
      return app.app.fleet.count('ready') === 3 && [...app.runtime.machines.keys()].every((id) => !old.has(id));
    });
    return fewest;
  }
  const present = (): Set<string> => new Set(app.runtime.machines.keys());

  it('are replaced one by one, and the pool is never less than it should be', async () => {
    const old = present();
    app.runtime.upgrade('fake-2');
    assert.equal(await renewed(old), 3);
    assert.ok([...app.runtime.machines.values()].every(({ generation }) => generation === 'fake-2'));
    assert.equal(await figure(app, 'berth_pool_retired_total{reason="outdated"}'), 3);
  });

  it('are replaced for their age as well', async () => {
    const old = present();
    clock.advance(30 * 60_000 + 1);
    assert.equal(await renewed(old), 3);
    assert.equal(await figure(app, 'berth_pool_retired_total{reason="old"}'), 3);
  });

  it('are told as outdated, stay with the session that has them, and are kept while no new one starts', async () => {
    const { session_id } = await app.create({ timeout_seconds: 3600, idle_timeout_seconds: 3600 });
    await inTime('the pool is full', () => app.app.fleet.count('ready') === 3);
    const used = app.app.sessions.live.get(session_id)?.machine?.id;
    app.runtime.failNextBoot(new Error('a broken image'));
    app.runtime.upgrade('fake-3');
    await inTime('one has failed', () => app.app.fleet.record.failures('headless') === 1);
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
    const told = async () => (await rows()).every(({ outdated, runtime }) => outdated && runtime === 'fake');
    // The turn that failed may have begun before the upgrade: the next one tells.
    await eventually('other workers are told', () => (app.app.fleet.refill.nudge(), told()));
    const old = present();
    old.delete(used ?? '');
    assert.equal(await renewed(old), 3);
    assert.equal((await app.call(getSession, { params: { session_id } })).body.status, 'ready');
  });
});

describe('machines that do not start', () => {
  it('are tried again after a pause, told, and said once in the log', async () => {
    const clock = new ManualClock();
    const said: string[] = [];
    const log = { ...silentLog, warn: (_: object, message: string) => void said.push(message), child: () => log };
    const app = await startApp({ clock, log, environment: { BERTH_POOL_TARGET: '0' } });
    const turn = async () => (app.app.fleet.refill.nudge(), app.app.fleet.refill.idle());
    const failures = async () => (await app.call(getPool)).body.worker.templates.find(({ kind }) => kind === 'headless');
    try {
      await turn();
      for (const [tries, pauseMs] of [1000, 2000, 4000].entries()) {
        app.runtime.failNextBoot(new Error('no such program'));
        if (tries === 0) await resize(app, 1);
        await turn();
        assert.equal((await failures())?.failures, tries + 1);
        clock.advance(pauseMs - 1);
        await turn();
        assert.equal((await failures())?.failures, tries + 1, 'it is too early');
        clock.advance(1);
      }
      const sick = await app.call(health);
      assert.deepEqual([sick.status, sick.body.checks['machines']?.status], [503, 'degraded']);
      assert.match((await failures())?.note ?? '', /^the last start failed at 2026-01-01T00:00:0/);
      await turn();
      await poolHas(app, 1);
      assert.deepEqual(await failures(), { kind: 'headless', way: 'process', failures: 0, note: null });
      assert.equal((await app.call(health)).status, 200);
      assert.equal(said.filter((message) => /not start/.test(message)).length, 1, said.join('; '));
      assert.equal(await figure(app, 'berth_machine_boot_failures_total{kind="headless"}'), 3);
      assert.equal(await figure(app, 'berth_machine_boots_total{kind="headless",way="process"}'), 1);
    } finally {
      await app.close();
    }
  });
});

describe('a host without room', () => {
  it('gets no machines for the pool, and says why', async () => {
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
