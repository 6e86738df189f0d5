import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverTargetsByPath } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /c/{token}/json/list lists the pages of the sessions that the token created, with the token', async () => {
    const { token, cdp_url } = (await served.call(createConnectToken)).body;
    const list = async () => (await served.call(discoverTargetsByPath, { key: null, params: { token: token ?? '' } })).body;
    assert.deepEqual(await list(), []);
    const { socket } = await openSocket(cdp_url ?? '');
    const [target, ...more] = await list();
    assert.deepEqual([target?.type, more.length], ['page', 0]);
    assert.ok(target?.webSocketDebuggerUrl.endsWith(`/cdp?token=${token}`));
    socket.terminate();
  });
});
