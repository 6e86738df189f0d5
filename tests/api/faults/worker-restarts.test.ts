/** Workers that are killed and restarted, and workers that are stopped gracefully. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  endAnySession,
  endSession,
  getInspectReport,
  getJob,
  getSession,
  health,
  inspect,
  listAllSessions,
  listSessions,
  livez,
  navigate,
  openTab,
  updateSession,
} from '@berth/contract';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { openEvents } from '../../event-stream.ts';
import { openSocket } from '../../raw-http.ts';
import { recordingOf, recordingSession, type RecordedSession } from '../../prepare/recorded-session.ts';
import { auditTrailOf, assertError, hang, hangingUrl, machineOf, machinesLeft, nothingLeft } from '../../contract/session-states.ts';
import { startProxiedApp, type ProxiedApp } from '../../services/database-proxy.ts';

describe('a worker that is killed', () => {
  let first: ProxiedApp;
  let second: TestApp;
  let sessions: string[] = [];
  let recorded: RecordedSession;
  let inspection = '';
  let strangerKey = '';
  let startedMs = 0;
  before(async () => {
    first = await startProxiedApp();
    strangerKey = await first.ownerKey('stranger');
    sessions = [(await first.create({ name: 'theirs' })).session_id, (await first.create({}, { key: strangerKey })).session_id];
    recorded = await recordingSession(first);
    sessions.push(recorded.sessionId);
    first.runtime.delayBoot(60_000);
    sessions.push((await first.create({}, { query: { wait: 'false' } })).session_id);
    first.runtime.delayBoot(0);
    const inspecting = { url: hangingUrl, session_id: sessions[0], settle_ms: 0, async: true };
    inspection = (await first.call(inspect, { body: inspecting })).body.job_id;
    await eventually('it runs', async () => (await first.call(getJob, { params: { job_id: inspection } })).body.stage === 'running');
    // As after kill -9: it writes nothing more, its lock on the data folder is released, its machines still run.
    await first.proxy.cut();
    startedMs = performance.now();
    second = await startApp({ previous: { dataDir: first.dataDir, databaseUrl: first.directUrl, runtime: first.runtime } });
  });
  after(async () => {
    await second.close();
    await first.proxy.restore();
    await first.close();
  });

  // The first two of all: nothing has waited for a loop.
  it('a worker that is killed has its recordings finished before its first answer', async () => {
    const { status, ended_at } = await recordingOf(second, recorded);
    assert.match(status, /^(incomplete|failed)$/);
    assert.ok(ended_at);
    const { body } = await second.call(getSession, { params: { session_id: recorded.sessionId } });
    assert.deepEqual([body.status, body.recording.status], ['ended', status], 'its session says the same');
  });

  it('a worker that is killed reports its sessions as lost from its first answer on', async () => {
    const { body } = await second.call(listAllSessions);
    assert.deepEqual(
      body.map(({ session_id, status, ended_reason, ended_at }) => [session_id, status, ended_reason, ended_at !== null]),
      sessions.toReversed().map((id) => [id, 'ended', 'worker_lost', true]),
    );
    for (const id of sessions) assert.deepEqual((await auditTrailOf(second, id)).slice(1), [['service', 'session.ended', 'worker_lost']]);
  });

  it('a worker that is killed is healthy again within seconds', async () => {
    await eventually('the second start is healthy', async () => (await second.call(health)).status === 200);
    assertSoon(startedMs);
  });

  it('the inspection of a worker that is killed is reported as lost', async () => {
    const { body } = await second.call(getJob, { params: { job_id: inspection } });
    assert.deepEqual([body.status, body.error?.code, body.error?.retryable, body.result], ['error', 'worker_lost', true, null]);
    await second.refuse(getInspectReport, 'report_not_available', { params: { job_id: inspection } });
  });

  it('the machines of a worker that is killed are ended by the first reaper iteration', async () => {
    await second.app.fleet.reaper.idle();
    assert.deepEqual(await machinesLeft(second), nothingLeft);
    const rows = await second.app.fleet.deps.store.tables<{ machines: { vm_id: string } }>().selectFrom('machines').selectAll().execute();
    assert.deepEqual(rows, []);
  });

  it('a worker that is killed loses no key and no owner', async () => {
    assert.equal((await second.call(listSessions, { key: first.key })).status, 200);
    const { body } = await second.call(listSessions, { key: strangerKey });
    assert.deepEqual(
      body.map(({ session_id }) => session_id),
      [sessions[1]],
    );
  });

  it('a worker that is killed reports why its sessions ended and frees their names', async () => {
    const { details } = await second.refuse(navigate, 'session_ended', {
      params: { session_id: sessions[0] ?? '' },
      body: { url: 'about:blank' },
    });
    assert.equal(details['ended_reason'], 'worker_lost');
    assert.equal((await second.create({ name: 'theirs' })).status, 'ready');
  });
});

describe('a session of another worker', () => {
  it('a session of another worker can be read here, and all else is answered worker_unreachable with the name of the worker', async () => {
    const served = await startApp();
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-other-'));
    const other = await startApp({ previous: { dataDir, databaseUrl: served.databaseUrl, runtime: createFakeRuntime() } });
    try {
      const { session_id } = await served.create();
      const request = { params: { session_id }, key: served.key };
      assert.equal((await other.call(getSession, request)).body.status, 'ready');
      const worker = (await served.call(listAllSessions)).body[0]?.worker_id;
      const refused = [
        await other.refuse(navigate, 'worker_unreachable', { ...request, body: { url: 'about:blank' } }),
        await other.refuse(updateSession, 'worker_unreachable', { ...request, body: { name: 'x' } }),
        await other.refuse(endSession, 'worker_unreachable', request),
        await other.refuse(endAnySession, 'worker_unreachable', { params: { session_id } }),
      ];
      for (const { details } of refused) assert.deepEqual(details, { worker_id: worker });
      await served.call(endSession, request);
      assert.equal((await other.call(endSession, request)).status, 204);
    } finally {
      await other.close();
      await served.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('an orphaned machine', () => {
  it('an orphaned machine is ended, and a machine in use is not', async () => {
    const served = await startApp();
    try {
      await served.app.fleet.reaper.idle();
      const { session_id } = await served.create();
      served.runtime.plantArtifact('vm_stray');
      served.app.fleet.reaper.nudge();
      await served.app.fleet.reaper.idle();
      assert.deepEqual(await machinesLeft(served), { onHost: 1, berths: 1, live: 1 });
      assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
    } finally {
      await served.close();
    }
  });
});

describe('a worker that is stopped gracefully', () => {
  let served: TestApp;
  before(async () => {
    served = await startApp({ environment: { BERTH_DRAIN_SECONDS: '20' } });
  });
  after(() => served.close());

  it('a worker that is stopped gracefully reports unready at once, refuses new sessions, lets calls finish and ends the remaining sessions as drained', async () => {
    const [busy, idle] = await Promise.all([served.create(), served.create()]);
    const { closed } = await openSocket(`${served.url.replace('http', 'ws')}/v1/session/${idle.session_id}/cdp`, {
      authorization: `Bearer ${served.key}`,
    });
    const finish = machineOf(served, busy.session_id).browser.delayTabs();
    const running = served.call(openTab, { params: { session_id: busy.session_id }, body: {} });
    await eventually('the call is running', () => served.app.sessions.live.get(busy.session_id)?.driving === 1);
    const events = await openEvents(served.url, idle.session_id, { key: served.key });
    const lastEnd = Date.now() + 20_000;
    const stopped = served.app.stop();
    const { data: notice } = await events.nextOf('session.expiring');
    assert.equal(notice['reason'], 'drained');
    assert.ok(Math.abs(Date.parse(String(notice['expires_at'])) - lastEnd) < 15_000, String(notice['expires_at']));

    const report = await served.call(health);
    assert.deepEqual([report.status, report.body.checks['drain']?.status, report.headers.get('connection')], [503, 'degraded', 'close']);
    assert.equal((await served.call(livez)).status, 200);
    const { reply } = await served.refuse(createSession, 'draining', { body: {} });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.equal((await served.call(getSession, { params: { session_id: busy.session_id } })).body.status, 'ready');

    // The running call gets its own response, and the service waits for it.
    finish();
    const { status, text } = await running;
    assert.equal(status, 201, text);
    assert.deepEqual(await closed, { code: 1012, reason: 'service_restart' });
    await stopped;
    assert.deepEqual(await machinesLeft(served), nothingLeft);
    await assert.rejects(fetch(`${served.url}/livez`));
    const rows = await served.app.sessions.list({ limit: 10 });
    assert.deepEqual(
      rows.map(({ record }) => [record.status, record.endedReason]),
      [
        ['ended', 'drained'],
        ['ended', 'drained'],
      ],
    );
  });

  it('a worker that is stopped gracefully answers a call that outlasts the grace period before it exits', async () => {
    const hasty = await startApp({ environment: { BERTH_DRAIN_SECONDS: '0' } });
    try {
      const { session_id } = await hasty.create();
      const [hanging] = await hang(hasty, session_id);
      await hasty.app.stop();
      const details = assertError((await hanging) ?? assert.fail(), 409, 'session_ended');
      assert.equal(details['ended_reason'], 'drained');
    } finally {
      await hasty.close();
    }
  });
});
