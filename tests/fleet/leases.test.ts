/** A worker that loses its lease: what it ran is over, for its clients at once, and it serves again as a new one. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as Database } from 'pg';
import {
  createSession,
  discoverTargets,
  getJob,
  getSession,
  inspect,
  listAllSessions,
  listTabs,
  metrics,
  navigate,
  updateSession,
} from '@berth/contract';
import { systemClock } from '@berth/lib/clock.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { testStore } from '../../packages/server/testing/test-store.ts';
import { createDatabaseProxy, type DatabaseProxy } from '../services/database-proxy.ts';
import { openEvents } from '../event-stream.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { openSocket } from '../raw-http.ts';
import { hang, hangingUrl, machinesLeft, nothingLeft } from '../contract/session-states.ts';

type LiveSession = NonNullable<ReturnType<TestApp['app']['sessions']['live']['get']>>;

/** Long enough for a busy machine to write its heartbeats in time. */
const environment = { BERTH_LEASE_SECONDS: '5' };
const waitMs = 30_000;
/** Longer than a lease, after which a worker that is cut off alone has ended its browsers. */
const awayMs = 7000;
/** Longer than the time after which a worker ends its browsers. */
const frozenMs = 4500;

describe('a worker that is cut off from the database while another one is not', () => {
  let other: TestApp;
  let proxy: DatabaseProxy;
  let cut: TestApp;
  before(async () => {
    other = await startApp({ isInFleet: true, environment });
    proxy = await createDatabaseProxy(other.databaseUrl);
    cut = await startApp({ isInFleet: true, beside: { databaseUrl: proxy.url, key: other.key }, environment });
  });
  after(async () => {
    await cut.close();
    await proxy.close();
    await other.close();
  });

  it('a worker that is cut off from the database while another one is not ends its browsers, its clients and its jobs before its lease is taken, and joins as a new worker', async () => {
    const [driven, watched, theirs] = [await sessionOn(cut, 'driven'), await sessionOn(cut), await sessionOn(other)];
    const lost = [driven.session_id, watched.session_id];
    const [hanging] = await hang(cut, driven.session_id);
    const { closed } = await openSocket(`${cut.url.replace('http', 'ws')}/v1/session/${watched.session_id}/cdp`, {
      authorization: `Bearer ${cut.key}`,
    });
    const events = await openEvents(cut.url, watched.session_id, { key: cut.key });
    const body = { url: hangingUrl, settle_ms: 0, async: true };
    const jobIds: string[] = [];
    // Each is placed on one of the two.
    while (cut.app.jobs.load.pending === 0) jobIds.push((await cut.call(inspect, { body })).body.job_id);
    const job_id = jobIds.at(-1) ?? assert.fail();
    const job = async () => (await other.call(getJob, { params: { job_id }, key: cut.key })).body;
    await eventually('the job runs', () => cut.app.jobs.load.slots === 1);
    for (const { app } of [cut, other]) await beat(app);
    let leftWhenTaken: unknown = null;
    other.app.fleet.lease.onTaken(() => (leftWhenTaken = cut.runtime.machines.size));
    await proxy.cut();

    const answer = (await hanging) ?? assert.fail();
    assert.deepEqual([answer.status, JSON.parse(answer.text).error.details.ended_reason], [502, 'worker_lost']);
    assert.deepEqual(await closed, { code: 4000, reason: 'session_ended' });
    assert.deepEqual((await events.nextOf('session.ended')).data, { ended_reason: 'worker_lost', status: 'ending' });
    assert.equal(await events.next(), undefined, 'the stream has ended');
    assert.deepEqual(await machinesOf(cut), { onHost: 0, berths: 0 });
    assert.match((await cut.call(metrics)).text, /^berth_sessions\{status="ready"\} 0$/m);
    await cut.refuse(createSession, 'store_unavailable', { body: {} });

    await eventually('its lease is taken', () => leftWhenTaken !== null, waitMs);
    assert.equal(leftWhenTaken, 0, 'its browsers had ended');
    const reasons = async (): Promise<unknown[]> =>
      (await other.call(listAllSessions, { query: { limit: '100' } })).body
        .filter(({ session_id }) => lost.includes(session_id))
        .map((session) => session.ended_reason);
    await eventually('its sessions have ended', async () => (await reasons()).every((reason) => reason !== null));
    assert.deepEqual(await reasons(), ['worker_lost', 'worker_lost']);
    const isMoved = async (): Promise<boolean> => other.app.jobs.load.slots === jobIds.length || (await job()).status !== 'pending';
    await eventually('its job is run by the other, or has ended', isMoved, waitMs);
    assert.equal((await other.create({ name: 'driven' })).status, 'ready', 'the name is free');

    await proxy.restore();
    await eventually('it has joined again', () => !cut.app.fleet.lease.isFenced, waitMs);
    const { session_id } = await sessionOn(cut);
    assert.equal((await cut.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } })).status, 200);
    for (const id of lost) {
      const { body: read } = await cut.call(getSession, { params: { session_id: id } });
      assert.deepEqual([read.status, read.ended_reason], ['ended', 'worker_lost']);
    }
    assert.equal((await other.call(getSession, { params: { session_id: theirs.session_id } })).body.status, 'ready');
    await eventually('nothing is left of them', () => !lost.some((id) => cut.app.sessions.live.has(id)), waitMs);
  });
});

describe('a database that is away for longer than a lease, for all workers', () => {
  it('a database that is away for longer than a lease, for all workers ends no session', async () => {
    const database = await testStore();
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-api-'));
    const proxy = await createDatabaseProxy(database.url);
    const one = await startApp({
      isInFleet: true,
      environment,
      previous: { dataDir, databaseUrl: proxy.url, runtime: createFakeRuntime() },
    });
    const two = await startApp({ isInFleet: true, environment, beside: { databaseUrl: proxy.url, key: one.key } });
    try {
      const sessions = [await sessionOn(one), await sessionOn(two)];
      const reasons: string[] = [];
      for (const { app } of [one, two]) app.fleet.lease.onFenced((reason) => void reasons.push(reason));
      const canAsk = async ({ app }: TestApp): Promise<boolean> =>
        (await app.forwarding?.viewAges(AbortSignal.timeout(waitMs)))?.length === 1 && app.fleet.lastHeartbeat.hasPeers;
      await eventually('they can ask each other', async () => (await canAsk(one)) && (await canAsk(two)), waitMs);
      await proxy.cut();
      await sleep(awayMs);
      await one.refuse(createSession, 'store_unavailable', { body: {} });
      await proxy.restore();
      for (const { session_id } of sessions) {
        const params = { session_id };
        const navigated = async (): Promise<boolean> =>
          (await one.call(navigate, { params, body: { url: 'http://site.test/' } })).status === 200;
        await eventually('it can be driven', navigated, waitMs);
        assert.equal((await two.call(getSession, { params })).body.status, 'ready');
      }
      assert.deepEqual(reasons, []);
    } finally {
      await two.close();
      await one.close();
      await proxy.close();
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('a worker that was frozen', () => {
  let peer: TestApp;
  let frozen: TestApp;
  let database: Database;
  let frozenForMs = 0;
  before(async () => {
    const monotonicMs = systemClock.monotonicMs.bind(systemClock);
    mock.method(systemClock, 'monotonicMs', () => monotonicMs() + frozenForMs);
    peer = await startApp({ isInFleet: true, environment });
    frozen = await startApp({ isInFleet: true, environment, beside: peer });
    database = new Database({ connectionString: peer.databaseUrl });
    await database.connect();
  });
  after(async () => {
    await database.end();
    await frozen.close();
    await peer.close();
    mock.restoreAll();
  });

  const newSession = async (): Promise<LiveSession> => {
    await eventually('both are in the fleet', () => [peer, frozen].every(({ app }) => !app.fleet.lease.isFenced), waitMs);
    const { session_id } = await sessionOn(frozen);
    await beat(frozen.app);
    return frozen.app.sessions.live.get(session_id) ?? assert.fail();
  };
  const endByOthers = ({ record }: LiveSession) =>
    database.query("UPDATE sessions SET status = 'ended', ended_reason = 'worker_lost' WHERE session_id = $1", [record.sessionId]);
  /** Advances the clock by which leases are measured, as if the worker had been frozen. */
  const freeze = (): unknown => (frozenForMs += frozenMs);

  it('a worker that was frozen notices its lost lease with the first read, before a timer has looked at the clock', async () => {
    const session = await newSession();
    const { sessionId } = session.record;
    await endByOthers(session);
    freeze();
    const list = frozen.app.sessions.list({ owner: 'local', limit: 10 });
    const read = frozen.app.sessions.get('local', sessionId);
    assert.equal(session.isFenced, true);
    assert.equal((await list).find(({ record }) => record.sessionId === sessionId)?.record.status, 'ended');
    assert.equal((await read).record.status, 'ended');
  });

  it('a worker that was frozen forwards nothing to a browser, before a timer has looked at the clock', async () => {
    const session = await newSession();
    const machine = session.machine ?? assert.fail();
    const { browser } = frozen.runtime.machines.get(machine.id) ?? assert.fail();
    const client = await machine.browser.connectClient({ send: () => true, onClose: () => undefined });
    await endByOthers(session);
    freeze();
    void client.receive(Buffer.from(JSON.stringify({ id: 1, method: 'Target.createTarget', params: { url: 'http://late.test/' } })));
    assert.equal(session.isFenced, true);
    await eventually('it is over', () => !frozen.app.sessions.live.has(session.record.sessionId), waitMs);
    assert.deepEqual(browser.pageUrls, ['about:blank']);
  });

  it('a worker that was frozen does nothing for a session whose end it cannot store yet', async () => {
    const session = await newSession();
    const { sessionId } = session.record;
    await database.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
    await database.query(`CREATE TRIGGER refuse BEFORE UPDATE ON sessions FOR EACH ROW WHEN (OLD.session_id = '${sessionId}')
      EXECUTE FUNCTION refuse()`);
    freeze();
    frozen.app.fleet.lease.check();
    await eventually('its end was refused', () => session.end.state === 'due');
    const params = { session_id: sessionId };
    await frozen.refuse(listTabs, 'session_not_ready', { params });
    await frozen.refuse(updateSession, 'session_ended', { params, body: { name: 'later' } });
    assert.equal(JSON.stringify((await frozen.call(discoverTargets)).body).includes(sessionId), false);
    await database.query('DROP FUNCTION refuse CASCADE');
    await eventually('it is over', () => !frozen.app.sessions.live.has(sessionId), waitMs);
  });
});

describe('a worker whose lease was taken', () => {
  it('a worker whose lease was taken leaves no machine, and counts its sessions as ended once', async () => {
    const worker = await startApp({ isInFleet: true });
    try {
      const { session_id } = await worker.create();
      const { store } = worker.app.fleet.deps;
      await store
        .tables<{ workers: { lease_epoch: number; lost_heartbeat: Date; heartbeat_at: Date } }>()
        .updateTable('workers')
        .set((row) => ({ lease_epoch: 7, lost_heartbeat: row.ref('heartbeat_at') }))
        .execute();
      await beat(worker.app);
      await eventually('it has joined again', () => !worker.app.fleet.lease.isFenced, waitMs);
      await eventually(
        'the session has ended',
        async () => (await worker.call(getSession, { params: { session_id } })).body.status === 'ended',
      );
      await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(worker)) === JSON.stringify(nothingLeft), waitMs);
    } finally {
      await worker.close();
    }
  });
});

/** Creates sessions until one is placed on this worker: an owner's are spread. */
async function sessionOn(worker: TestApp, name?: string): ReturnType<TestApp['create']> {
  for (;;) {
    const session = await worker.create();
    const { session_id } = session;
    if (!worker.app.sessions.live.has(session_id)) continue;
    if (name !== undefined) await worker.call(updateSession, { params: { session_id }, body: { name } });
    return session;
  }
}

async function beat({ fleet }: TestApp['app']): Promise<void> {
  fleet.heartbeat.nudge();
  await fleet.heartbeat.idle();
}

/** Counts machines without the rows, which cannot be read. */
async function machinesOf({ app, runtime }: TestApp): Promise<{ onHost: number; berths: number }> {
  return {
    onHost: (await runtime.list()).length,
    berths: [...app.fleet.slots.values()].filter(({ state }) => state !== 'draining').length,
  };
}
