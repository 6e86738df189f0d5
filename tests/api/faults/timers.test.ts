/** Timers that end sessions, and the recorded reasons. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  endAnySession,
  endSession,
  getSession,
  listSessions,
  listTabs,
  navigate,
  updateSession,
  type EndedReason,
} from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';
import { assertError, hang, machineOf, machinesLeft, nothingLeft } from '../../contract/session-states.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

async function pass(seconds: number): Promise<void> {
  clock.advance(seconds * 1000);
  // The current iteration may have read the clock already; the nudge adds another one.
  served.app.sessions.timers.nudge();
  await served.app.sessions.timers.idle();
}

const read = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body;
const isAlive = async (session_id: string): Promise<boolean> => (await read(session_id)).status === 'ready';
async function assertEnded(session_id: string, reason: EndedReason, status = 'ended'): Promise<void> {
  await served.app.sessions.live.get(session_id)?.disposed;
  const session = await read(session_id);
  assert.deepEqual([session.status, session.ended_reason], [status, reason]);
  assert.equal(session.ended_at, clock.now().toISOString());
}
const socketAddress = async (session_id: string) => (await served.call(connectSession, { params: { session_id } })).body.cdp_url;

describe('the idle timer', () => {
  it('the idle timer ends an idle session and its machine', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    await pass(9);
    assert.ok(await isAlive(session_id));
    await pass(1);
    await assertEnded(session_id, 'idle_timeout');
    assert.deepEqual(await machinesLeft(served), nothingLeft);
  });

  it('the idle timer is reset by every drive call', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    for (let time = 0; time < 4; time += 1) {
      await pass(9);
      await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    }
    const { last_activity_at } = await read(session_id);
    assert.equal(last_activity_at, clock.now().toISOString());
    await pass(10);
    await assertEnded(session_id, 'idle_timeout');
  });

  it('the idle timer is paused during a drive call', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    const [hanging] = await hang(served, session_id);
    await pass(60);
    assert.ok(await isAlive(session_id));
    await served.call(endSession, { params: { session_id } });
    await hanging;
  });

  it('the idle timer is paused while a DevTools client is attached, and starts when the last one leaves', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    const address = await socketAddress(session_id);
    const [first, second] = [await openSocket(address), await openSocket(address)];
    for (const client of [first, second]) {
      await pass(300);
      assert.ok(await isAlive(session_id));
      client.socket.close();
      await client.closed;
    }
    await eventually('no client is attached', async () => (await read(session_id)).connections.cdp === 0);
    await pass(9);
    assert.ok(await isAlive(session_id));
    await pass(1);
    await assertEnded(session_id, 'idle_timeout');
  });

  it('the idle timer is not reset by watching', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    await pass(9);
    await read(session_id);
    await served.call(listSessions);
    await served.call(listTabs, { params: { session_id } });
    await served.call(connectSession, { params: { session_id } });
    await served.call(updateSession, { params: { session_id }, body: { metadata: { seen: 'yes' } } });
    await pass(1);
    await assertEnded(session_id, 'idle_timeout');
  });

  it('the idle timer can be extended', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    await served.call(updateSession, { params: { session_id }, body: { idle_timeout_seconds: 20 } });
    await pass(19);
    assert.ok(await isAlive(session_id));
    await pass(1);
    await assertEnded(session_id, 'idle_timeout');
  });
});

/** The announcements of an end so far. */
const notices = (session_id: string) =>
  served.app.sessions.live
    .get(session_id)
    ?.events.after(0)
    .filter(({ type }) => type === 'session.expiring')
    .map(({ data }) => [data['reason'], data['expires_at']]) ?? assert.fail('the session is over');
const inSeconds = (seconds: number): string => new Date(clock.now().getTime() + seconds * 1000).toISOString();

describe('the event session.expiring', () => {
  it('session.expiring precedes an idle timeout by thirty seconds, once for each idle time', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 100 });
    await pass(69);
    assert.deepEqual(notices(session_id), []);
    await pass(1);
    const first = ['idle_timeout', inSeconds(30)];
    await pass(10);
    assert.deepEqual(notices(session_id), [first]);
    await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    await pass(1);
    assert.deepEqual(notices(session_id), [first]);
    await pass(70);
    assert.deepEqual(notices(session_id), [first, ['idle_timeout', inSeconds(29)]]);
    await pass(29);
    await assertEnded(session_id, 'idle_timeout');
  });

  it('session.expiring precedes a short idle timeout by half of it', async () => {
    const { session_id } = await served.create({ idle_timeout_seconds: 10 });
    await pass(4);
    assert.deepEqual(notices(session_id), []);
    await pass(1);
    assert.deepEqual(notices(session_id), [['idle_timeout', inSeconds(5)]]);
    await served.call(endSession, { params: { session_id } });
  });

  it('session.expiring announces no idle timeout while a DevTools client is attached, and the lifetime all the same', async () => {
    const { session_id, expires_at } = await served.create({ timeout_seconds: 100, idle_timeout_seconds: 10 });
    const { closed } = await openSocket(await socketAddress(session_id));
    await pass(69);
    assert.deepEqual(notices(session_id), []);
    await pass(1);
    await pass(1);
    assert.deepEqual(notices(session_id), [['max_lifetime', expires_at]]);
    await pass(29);
    assert.deepEqual(await closed, { code: 4002, reason: 'max_lifetime' });
  });

  it('session.expiring is emitted again after the lifetime was extended', async () => {
    const { session_id } = await served.create({ timeout_seconds: 60, idle_timeout_seconds: 60 });
    await pass(31);
    assert.equal(notices(session_id).filter(([reason]) => reason === 'max_lifetime').length, 1);
    await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 600, idle_timeout_seconds: 600 } });
    await pass(540);
    assert.equal(notices(session_id).filter(([reason]) => reason === 'max_lifetime').length, 2);
    await served.call(endSession, { params: { session_id } });
  });
});

describe('the lifetime', () => {
  const lasting = { timeout_seconds: 30, idle_timeout_seconds: 30 };

  it('the lifetime ends a busy session and notifies its clients', async () => {
    const { session_id } = await served.create(lasting);
    const { closed } = await openSocket(await socketAddress(session_id));
    const [hanging] = await hang(served, session_id);
    await pass(29);
    assert.ok(await isAlive(session_id));
    await pass(1);
    assert.deepEqual(await closed, { code: 4002, reason: 'max_lifetime' });
    const details = assertError((await hanging) ?? assert.fail(), 409, 'session_ended');
    assert.equal(details['ended_reason'], 'max_lifetime');
    await assertEnded(session_id, 'max_lifetime');
  });

  it('the lifetime is counted from creation after a change', async () => {
    const { session_id } = await served.create(lasting);
    await pass(20);
    await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 60, idle_timeout_seconds: 60 } });
    await pass(39);
    assert.ok(await isAlive(session_id));
    await pass(1);
    await assertEnded(session_id, 'max_lifetime');
  });

  it('the lifetime can be shortened to less than the elapsed time', async () => {
    const { session_id } = await served.create({ timeout_seconds: 600, idle_timeout_seconds: 600 });
    await pass(45);
    await served.call(updateSession, { params: { session_id }, body: { timeout_seconds: 40 } });
    await pass(0);
    await assertEnded(session_id, 'max_lifetime');
  });

  it('the lifetime of a session matches expires_at', async () => {
    const { expires_at } = await served.create(lasting);
    assert.equal(Date.parse(expires_at) - clock.now().getTime(), 30_000);
  });
});

describe('a session without keep_alive', () => {
  it('a session without keep_alive ends with cdp_closed when its last DevTools client disconnects', async () => {
    const { session_id } = await served.create({ keep_alive: false });
    const first = await openSocket(await socketAddress(session_id));
    const second = await openSocket(await socketAddress(session_id));
    first.socket.close();
    await first.closed;
    await second.send('Browser.getVersion');
    assert.ok(await isAlive(session_id));
    second.socket.close();
    await eventually('the session has ended', async () => (await read(session_id)).status === 'ended');
    await assertEnded(session_id, 'cdp_closed');
  });

  it('a session without keep_alive ends when its client calls Browser.close', async () => {
    const { session_id } = await served.create({ keep_alive: false });
    const { send, closed } = await openSocket(await socketAddress(session_id));
    await send('Browser.close');
    await closed;
    await eventually('the session has ended', async () => (await read(session_id)).status === 'ended');
    await assertEnded(session_id, 'cdp_closed');
  });

  it('a session without keep_alive waits for the first client', async () => {
    const { session_id } = await served.create({ keep_alive: false });
    await pass(20);
    assert.ok(await isAlive(session_id));
  });
});

describe('the end reason', () => {
  it('the end reason of a session is the first of several', async () => {
    const { session_id } = await served.create();
    await Promise.all([served.call(endSession, { params: { session_id } }), served.call(endAnySession, { params: { session_id } })]);
    const { ended_reason } = await read(session_id);
    assert.ok(ended_reason === 'requested' || ended_reason === 'admin');
    await served.call(endAnySession, { params: { session_id } });
    assert.equal((await read(session_id)).ended_reason, ended_reason);
  });

  it('the end reason of a session distinguishes a crashed or disconnected browser from a machine out of memory', async () => {
    const [disconnected, full, hungUp] = await Promise.all([1, 2, 3].map(async () => (await served.create()).session_id));
    machineOf(served, disconnected ?? '').crash();
    machineOf(served, full ?? '').crash('out_of_memory');
    machineOf(served, hungUp ?? '').cdp.destroy();
    for (const [session_id, reason] of [
      [disconnected, 'browser_crashed'],
      [full, 'out_of_memory'],
      [hungUp, 'browser_crashed'],
    ] as const) {
      await eventually(`${reason} is noticed`, async () => !(await isAlive(session_id ?? '')));
      await assertEnded(session_id ?? '', reason, 'failed');
    }
  });
});

describe('a worker with a wrong clock', () => {
  it('a worker with a wrong clock is not considered lost by itself or by others', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-other-'));
    const other = await startApp({ previous: { dataDir, databaseUrl: served.databaseUrl, runtime: createFakeRuntime() } });
    try {
      for (const { app } of [served, other]) {
        app.fleet.heartbeat.nudge();
        await app.fleet.heartbeat.idle();
      }
      assert.deepEqual(await served.app.fleet.silentWorkers(), []);
      assert.deepEqual(await other.app.fleet.silentWorkers(), []);
    } finally {
      await other.close();
      rmSync(dataDir, { recursive: true });
    }
  });
});
