import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  createConnectToken,
  discoverVersionByPath,
  endSession,
  getSession,
  listConnectTokens,
  listSessions,
  revokeConnectToken,
  type SessionResponse,
} from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket, refusedSocket, type DevtoolsSocket } from '../../raw-http.ts';
import { assertError, machineOf } from '../../contract/session-states.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());
/** An address of its own for each test, and none of the sessions before. */
let job = 0;
beforeEach(async () => {
  job += 1;
  for (const { session_id } of await live()) await served.call(endSession, { params: { session_id } });
});

const address = (query: Record<string, string> = {}): string =>
  `${served.url.replace('http', 'ws')}/v1/connect?${new URLSearchParams({ reconnect_seconds: '60', 'metadata.job': String(job), ...query })}`;
const connect = (query: Record<string, string> = {}): Promise<DevtoolsSocket> =>
  openSocket(address(query), { authorization: `Bearer ${served.key}` });
const read = async (session_id: string): Promise<SessionResponse> => (await served.call(getSession, { params: { session_id } })).body;
const live = async (): Promise<SessionResponse[]> => (await served.call(listSessions, { query: { status: 'starting,ready' } })).body;
const only = async (): Promise<string> => {
  const sessions = await live();
  assert.equal(sessions.length, 1);
  return sessions[0]?.session_id ?? '';
};
const pass = async (seconds: number): Promise<void> => {
  clock.advance(seconds * 1000);
  served.app.sessions.timers.nudge();
  await served.app.sessions.timers.idle();
};
/** Cuts the connection as a network does, without a word. */
async function drop({ socket }: DevtoolsSocket, session_id: string): Promise<void> {
  socket.terminate();
  await eventually('the client is gone', async () => (await read(session_id)).connections.cdp === 0);
}

describe('an address with reconnect_seconds', () => {
  it('leads a client whose connection dropped to its browser, as often as it drops', async () => {
    let open = await connect();
    const session_id = await only();
    const { targetId } = await open.send('Target.createTarget', { url: 'http://site.test/' });
    for (let times = 0; times < 3; times += 1) {
      await drop(open, session_id);
      await pass(59);
      open = await connect();
      assert.equal(await only(), session_id);
      const { targetInfos } = await open.send('Target.getTargets');
      assert.ok((targetInfos as { targetId: string }[]).some((each) => each.targetId === targetId));
    }
  });

  it('charges the session once', async () => {
    const first = await connect();
    const session_id = await only();
    const { credits } = (await read(session_id)).usage;
    await drop(first, session_id);
    await connect();
    assert.equal((await read(session_id)).usage.credits, credits);
  });

  it('leads to a new browser when the time has passed', async () => {
    const first = await connect();
    const session_id = await only();
    await drop(first, session_id);
    await pass(60);
    await eventually('it has ended', async () => (await read(session_id)).status === 'ended');
    assert.equal((await read(session_id)).ended_reason, 'cdp_closed');
    await connect();
    assert.notEqual(await only(), session_id);
  });

  it('keeps the browser for its time, however short the idle timeout is', async () => {
    const query = { idle_timeout_seconds: '10' };
    const first = await connect(query);
    const session_id = await only();
    await drop(first, session_id);
    await pass(30);
    await connect(query);
    assert.equal(await only(), session_id);
  });

  it('leads to a new browser after the browser has died', async () => {
    const first = await connect();
    const session_id = await only();
    machineOf(served, session_id).crash();
    assert.deepEqual(await first.closed, { code: 4008, reason: 'browser_crashed' });
    await connect();
    assert.notEqual(await only(), session_id);
  });

  it('leads to a new browser after a client has closed the browser', async () => {
    const first = await connect();
    const session_id = await only();
    first.socket.send(JSON.stringify({ id: 9, method: 'Browser.close' }));
    await first.closed;
    await connect();
    assert.notEqual(await only(), session_id);
  });

  it('starts one browser for clients that come together, who share it', async () => {
    const clients = await Promise.all([connect(), connect(), connect()]);
    const session_id = await only();
    assert.equal((await read(session_id)).connections.cdp, 3);
    clients[0]?.socket.terminate();
    clients[1]?.socket.terminate();
    await eventually('one is left', async () => (await read(session_id)).connections.cdp === 1);
    await pass(120);
    assert.equal((await read(session_id)).status, 'ready');
  });

  it('is another one with other options, and the same one with the options in another order', async () => {
    await connect({ locale: 'de', timezone: 'Europe/Berlin' });
    const session_id = await only();
    await connect({ timezone: 'Europe/Berlin', locale: 'de' });
    assert.equal(await only(), session_id);
    await connect({ locale: 'fr', timezone: 'Europe/Berlin' });
    assert.equal((await live()).length, 2);
  });

  it('is of one credential', async () => {
    await connect();
    const { token } = (await served.call(createConnectToken)).body;
    await openSocket(address({ token: token ?? '' }));
    assert.equal((await live()).length, 2);
    const other = await served.ownerKey('somebody');
    await openSocket(address(), { authorization: `Bearer ${other}` });
    assert.equal((await live()).length, 2);
  });

  it('counts against the sessions of its owner while it waits', async () => {
    const key = await served.ownerKey('waiting', 'free');
    const headers = { authorization: `Bearer ${key}` };
    const open = await Promise.all(['a', 'b', 'c'].map((name) => openSocket(address({ name }), headers)));
    for (const { socket } of open) socket.terminate();
    assertError(await refusedSocket(address({ name: 'd' }), headers), 429, 'concurrency_limit');
    await openSocket(address({ name: 'b' }), headers);
  });

  it('is refused beside keep_alive, and above an hour', async () => {
    for (const query of [{ keep_alive: 'true' }, { reconnect_seconds: '3601' }, { reconnect_seconds: 'long' }]) {
      const { status, body } = await refusedSocket(address(query), { authorization: `Bearer ${served.key}` });
      assert.equal(status, 422);
      assert.deepEqual((body as { detail: { loc: string[] }[] }).detail[0]?.loc, ['query', 'reconnect_seconds']);
    }
  });
});

describe('a connect token with reconnect_seconds', () => {
  it('has an address that leads to its browser again, also the one that discovery returns', async () => {
    const { token, cdp_url, reconnect_seconds } = (await served.call(createConnectToken, { body: { reconnect_seconds: 30 } })).body;
    assert.equal(reconnect_seconds, 30);
    assert.equal((await served.call(listConnectTokens)).body.find((each) => each.reconnect_seconds > 0)?.reconnect_seconds, 30);
    const booted = served.runtime.counts.booted;
    const { webSocketDebuggerUrl } = (await served.call(discoverVersionByPath, { params: { token: token ?? '' } })).body;
    assert.equal(served.runtime.counts.booted, booted);
    const first = await openSocket(webSocketDebuggerUrl);
    const session_id = await only();
    await drop(first, session_id);
    await pass(29);
    await drop(await openSocket(cdp_url ?? ''), await only());
    assert.equal(await only(), session_id);
    await pass(30);
    await eventually('it has ended', async () => (await live()).length === 0);
  });

  it('has addresses without it where they say so', async () => {
    const { cdp_url } = (await served.call(createConnectToken, { body: { reconnect_seconds: 30 } })).body;
    const { socket } = await openSocket(`${cdp_url}&reconnect_seconds=0`);
    socket.close();
    await eventually('it has ended', async () => (await live()).length === 0);
  });

  it('leaves no browser behind when it is revoked while one waits', async () => {
    const { token_id, cdp_url } = (await served.call(createConnectToken, { body: { reconnect_seconds: 3600 } })).body;
    const first = await openSocket(cdp_url ?? '');
    await drop(first, await only());
    await served.call(revokeConnectToken, { params: { token_id } });
    await eventually('it has ended', async () => (await live()).length === 0);
  });
});
