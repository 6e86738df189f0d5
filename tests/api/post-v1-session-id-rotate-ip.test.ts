import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { getSession, rotateIp } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { assertError, callWhileBrowserDies, endedSession, jammedSession, startingSession } from '../session-states.ts';

let served: TestApp;
/** Proxies that take connections; that they carry traffic is tested with real browsers. */
let proxies: Server[] = [];
let addresses: string[] = [];
before(async () => {
  proxies = [0, 1, 2].map(() => createServer((socket) => socket.on('error', () => socket.destroy()).resume()));
  for (const proxy of proxies) {
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  }
  addresses = proxies.map((proxy) => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  served = await startApp({ environment: { BERTH_EGRESS_ALLOW: '127.0.0.0/8' } });
});
after(async () => {
  await served.close();
  for (const proxy of proxies) proxy.close();
});

describe('200', () => {
  it('is no error for a session without a proxy, and says so', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(rotateIp, { params: { session_id } });
    assert.deepEqual([body.session_id, body.rotated], [session_id, false]);
    assert.ok(body.note.length > 10);
  });

  it('takes the next proxy of the list each time, and counts', async () => {
    const { session_id } = await served.create({ proxy: { type: 'rotating', servers: addresses } });
    for (const turn of [1, 2, 3]) {
      const { body } = await served.call(rotateIp, { params: { session_id } });
      assert.equal(body.rotated, true, body.note);
      const { egress } = (await served.call(getSession, { params: { session_id } })).body;
      assert.equal(egress.rotations, turn);
      assert.ok(egress.rotated_at !== null);
    }
  });

  it('rotates nothing where the other proxies are dead, and the session goes on', async () => {
    const { session_id } = await served.create({ proxy: { type: 'rotating', servers: [addresses[0] ?? '', 'http://127.0.0.1:1'] } });
    const { body } = await served.call(rotateIp, { params: { session_id } });
    assert.equal(body.rotated, false);
    const read = (await served.call(getSession, { params: { session_id } })).body;
    assert.deepEqual([read.status, read.egress.rotations], ['ready', 0]);
  });
});

describe('404 session_not_found', () => {
  it('is the answer where there is no session to rotate', async () => {
    await served.refuse(rotateIp, 'session_not_found', { params: { session_id: 'ses_none' } });
  });
});

describe('409 session_not_ready', () => {
  it('is the answer before the machine is there', async () => {
    const { sessionId, give } = await startingSession(served);
    await served.refuse(rotateIp, 'session_not_ready', { params: { session_id: sessionId } });
    await give();
  });
});

describe('409 session_ended', () => {
  it('is the answer when there is nothing to rotate any more', async () => {
    await served.refuse(rotateIp, 'session_ended', { params: { session_id: await endedSession(served) } });
  });
});

describe('409 session_busy', () => {
  it('is the answer behind a full queue', async () => {
    const { sessionId, give } = await jammedSession(served);
    await served.refuse(rotateIp, 'session_busy', { params: { session_id: sessionId } });
    await give();
  });
});

describe('502 session_lost', () => {
  it('is the answer when the browser dies before its turn comes', async () => {
    assertError(await callWhileBrowserDies(served, (session_id) => served.call(rotateIp, { params: { session_id } })), 502, 'session_lost');
  });
});
