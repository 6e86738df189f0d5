import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, openTunnel } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket, refusedSocket, type DevtoolsSocket } from '../../raw-http.ts';
import { assertError, endedSession, startingSession } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const addressOf = (sessionId: string, port: number): string =>
  `${served.url.replace('http', 'ws')}/v1/session/${sessionId}/tunnel?port=${port}`;
const open = (sessionId: string, port = 3000, key = served.key): Promise<DevtoolsSocket> =>
  openSocket(addressOf(sessionId, port), { authorization: `Bearer ${key}` });
const refused = (sessionId: string, headers: Record<string, string> = {}) =>
  refusedSocket(addressOf(sessionId, 3000), { authorization: `Bearer ${served.key}`, ...headers });

describe('101', () => {
  it('GET /v1/session/{session_id}/tunnel is closed with 4000 session_ended when the session ends', async () => {
    const { session_id } = await served.create();
    const { closed } = await open(session_id);
    await served.call(endSession, { params: { session_id } });
    assert.deepEqual(await closed, { code: 4000, reason: 'session_ended' });
  });

  it('GET /v1/session/{session_id}/tunnel is closed with 4003 unauthorized soon after its key is revoked', async () => {
    const { session_id } = await served.create();
    const owned = { owner: 'local', name: null, expiresInDays: null, createdBy: 'test', actor: 'operator' };
    const { key, raw } = await served.app.keys.create(owned);
    const { closed } = await open(session_id, 3000, raw);
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    assert.deepEqual(await closed, { code: 4003, reason: 'unauthorized' });
  });

  it('GET /v1/session/{session_id}/tunnel is closed with 4012 replaced when another one takes its port', async () => {
    const { session_id } = await served.create();
    const [first, other] = [await open(session_id), await open(session_id, 3001)];
    const second = await open(session_id);
    assert.deepEqual(await first.closed, { code: 4012, reason: 'replaced' });
    for (const { socket } of [second, other]) {
      assert.equal(socket.readyState, socket.OPEN);
      socket.terminate();
    }
  });

  it('GET /v1/session/{session_id}/tunnel is closed with 4009 limit when eight are open, and has room when one closes', async () => {
    const { session_id } = await served.create();
    const all = await Promise.all(Array.from({ length: 8 }, (_, index) => open(session_id, 3000 + index)));
    assert.deepEqual(await (await open(session_id, 4000)).closed, { code: 4009, reason: 'limit' });
    all[0]?.socket.terminate();
    await eventually('there is room', async () => {
      const { socket, closed } = await open(session_id, 4000);
      const outcome = await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 50))]);
      socket.terminate();
      return outcome === undefined;
    });
    for (const { socket } of all) socket.terminate();
  });

  it('GET /v1/session/{session_id}/tunnel is closed for what is no HTTP/2', async () => {
    const { session_id } = await served.create();
    const { socket, closed } = await open(session_id);
    socket.send(Buffer.alloc(1000, 1));
    assert.deepEqual(await closed, { code: 1002, reason: 'bad_message' });
  });
});

describe('400 bad_request', () => {
  it('GET /v1/session/{session_id}/tunnel answers 400 bad_request to a request that is no WebSocket', async () => {
    const { session_id } = await served.create();
    await served.refuse(openTunnel, 'bad_request', { params: { session_id }, query: { port: '3000' } });
  });
});

describe('403 origin_not_allowed', () => {
  it('GET /v1/session/{session_id}/tunnel answers 403 origin_not_allowed to a page of another origin', async () => {
    const { session_id } = await served.create();
    assertError(await refused(session_id, { origin: 'https://evil.example' }), 403, 'origin_not_allowed');
  });
});

describe('404 session_not_found', () => {
  it('GET /v1/session/{session_id}/tunnel answers 404 session_not_found for an unknown session', async () => {
    assertError(await refused('ses_000000000000000000000000'), 404, 'session_not_found');
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/tunnel answers 409 session_not_ready while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    assertError(await refused(sessionId), 409, 'session_not_ready');
    await release();
  });
});

describe('409 session_ended', () => {
  it('GET /v1/session/{session_id}/tunnel answers 409 session_ended when the session has ended', async () => {
    assertError(await refused(await endedSession(served)), 409, 'session_ended');
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/tunnel answers 422 without a port, or for one that is none', async () => {
    const { session_id } = await served.create();
    for (const port of ['0', '65536', 'http']) {
      const address = addressOf(session_id, 0).replace(/port=.*/, `port=${port}`);
      assert.equal((await refusedSocket(address, { authorization: `Bearer ${served.key}` })).status, 422, port);
    }
  });
});
