import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverVersionByPath } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';

let served: TestApp;
let token = '';
before(async () => {
  served = await startApp();
  token = (await served.call(createConnectToken)).body.token ?? assert.fail();
});
after(() => served.close());

const version = async (query: Record<string, string> = {}) =>
  (await served.call(discoverVersionByPath, { key: null, params: { token }, query })).body;

describe('200', () => {
  it('GET /c/{token}/json/version returns an address with the token, which creates a session', async () => {
    const { webSocketDebuggerUrl } = await version();
    assert.equal(webSocketDebuggerUrl, `${served.url.replace('http', 'ws')}/v1/connect?token=${token}`);
    const { send, socket } = await openSocket(webSocketDebuggerUrl);
    await send('Browser.getVersion');
    socket.terminate();
  });

  it('GET /c/{token}/json/version passes options on, but no other token', async () => {
    const { webSocketDebuggerUrl } = await version({ keep_alive: 'true', token: 'junk' });
    assert.deepEqual(Object.fromEntries(new URL(webSocketDebuggerUrl).searchParams), { keep_alive: 'true', token });
  });

  it('GET /c/{token}/json/version ignores an Authorization header, which does not belong to the address', async () => {
    const reply = await served.call(discoverVersionByPath, { key: 'not-a-key', params: { token } });
    assert.equal(reply.status, 200);
  });
});

describe('422', () => {
  it('GET /c/{token}/json/version refuses options that no session has with 422', async () => {
    const [issue] = await served.issues(discoverVersionByPath, {
      params: { token },
      query: { 'viewport.width': 'wide', 'viewport.height': '600' },
    });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'viewport', 'width'], 'int_parsing']);
  });
});
