import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, discoverTargets, endSession, openTab } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const socketUrlOf = (sessionId: string) => `${served.url.replace('http', 'ws')}/v1/session/${sessionId}/cdp`;

describe('200', () => {
  it('GET /json/list lists the pages of all live sessions of the caller, and of nobody else', async () => {
    const key = await served.ownerKey('lister');
    const [first, second, over] = await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    assert.ok(first && second && over);
    await served.call(openTab, { key, params: { session_id: first.session_id }, body: {} });
    await served.call(endSession, { key, params: { session_id: over.session_id } });
    const others = await served.create();
    const urls = (await served.call(discoverTargets, { key })).body.map(({ webSocketDebuggerUrl }) => webSocketDebuggerUrl);
    const expected = [first, first, second].map(({ session_id }) => socketUrlOf(session_id));
    assert.deepEqual(urls.toSorted(), expected.toSorted());
    await served.call(endSession, { params: { session_id: others.session_id } });
  });

  it('GET /json/list lists, for a connect token, the pages of the sessions that it created, with the token', async () => {
    const [mine, another] = await Promise.all([1, 2].map(async () => (await served.call(createConnectToken)).body));
    const { session_id } = await served.create();
    const { socket } = await openSocket(mine?.cdp_url ?? '');
    const list = async (token: string | null | undefined) =>
      (await served.call(discoverTargets, { key: null, query: { token: token ?? '' } })).body;
    const [target, ...more] = await list(mine?.token);
    assert.ok(target && more.length === 0);
    assert.ok(target.webSocketDebuggerUrl.endsWith(`/cdp?token=${mine?.token}`));
    assert.ok(!target.webSocketDebuggerUrl.includes(session_id));
    assert.deepEqual(await list(another?.token), []);
    socket.terminate();
  });
});

describe('422', () => {
  it('GET /json/list refuses a token above the length limit with 422', async () => {
    const [issue] = await served.issues(discoverTargets, { query: { token: 'x'.repeat(2049) } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.input], [['query', 'token'], 'string_too_long', '[secret]']);
  });
});
