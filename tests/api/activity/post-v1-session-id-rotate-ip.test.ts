import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { getSession, rotateIp } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { assertError, callWhileBrowserDies, jammedSession } from '../../contract/session-states.ts';

let served: TestApp;
/** Proxies that accept connections; traffic is tested with real browsers. */
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
  it('POST /v1/session/{session_id}/rotate-ip reports that a session without a proxy was not rotated', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(rotateIp, { params: { session_id } });
    assert.deepEqual([body.session_id, body.rotated], [session_id, false]);
    assert.ok(body.note.length > 10);
  });

  it('POST /v1/session/{session_id}/rotate-ip switches to the next proxy of the list and counts rotations', async () => {
    const { session_id } = await served.create({ proxy: { type: 'rotating', servers: addresses } });
    for (const turn of [1, 2, 3]) {
      const { body } = await served.call(rotateIp, { params: { session_id } });
      assert.equal(body.rotated, true, body.note);
      const { egress } = (await served.call(getSession, { params: { session_id } })).body;
      assert.equal(egress.rotations, turn);
      assert.ok(egress.rotated_at !== null);
    }
  });

  it('POST /v1/session/{session_id}/rotate-ip keeps the current proxy when the others are down', async () => {
    const { session_id } = await served.create({ proxy: { type: 'rotating', servers: [addresses[0] ?? '', 'http://127.0.0.1:1'] } });
    const { body } = await served.call(rotateIp, { params: { session_id } });
    assert.equal(body.rotated, false);
    const read = (await served.call(getSession, { params: { session_id } })).body;
    assert.deepEqual([read.status, read.egress.rotations], ['ready', 0]);
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/rotate-ip answers 409 session_busy when the queue is full', async () => {
    const { sessionId, release } = await jammedSession(served);
    await served.refuse(rotateIp, 'session_busy', { params: { session_id: sessionId } });
    await release();
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/rotate-ip answers 502 session_lost for a queued rotation when the browser crashes', async () => {
    assertError(await callWhileBrowserDies(served, (session_id) => served.call(rotateIp, { params: { session_id } })), 502, 'session_lost');
  });
});
