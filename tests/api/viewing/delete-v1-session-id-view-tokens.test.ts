import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, revokeViewTokens } from '@berth/contract';
import { assertSoon, type Reply, startApp, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { recordedSession } from '../../prepare/recorded-session.ts';
import { assertError, endedSession } from '../../contract/session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor, type LinkScope } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const socketOf = (sessionId: string, path: string): string => `${served.url.replace('http', 'ws')}/v1/session/${sessionId}/${path}`;
const pages = [
  ['view', 'live-view'],
  ['control', 'live-view'],
  ['vnc', 'vnc/vnc.html'],
] as const;
const load = (sessionId: string, page: string, token: string): Promise<Reply> =>
  open(`${served.url}/v1/session/${sessionId}/${page}?token=${token}`);
const revoke = async (session_id: string): Promise<void> => {
  assert.equal((await served.call(revokeViewTokens, { params: { session_id } })).status, 204);
};

describe('204', () => {
  it('DELETE /v1/session/{session_id}/view-tokens revokes all links and cookies of the session, and new links work', async () => {
    const { session_id } = await served.create({ kind: 'full_browser' });
    const old: { page: string; token: string; cookie: string; scope: LinkScope }[] = [];
    for (const [scope, page] of pages) {
      const token = await tokenFor(served, session_id, scope);
      old.push({ scope, page, token, cookie: cookieOf(await load(session_id, page, token)) });
    }
    await revoke(session_id);
    for (const { scope, page, token, cookie } of old) {
      assertError(await load(session_id, page, token), 403, 'invalid_view_token');
      assertError(await open(`${served.url}/v1/session/${session_id}/${page}`, { cookie }), 403, 'invalid_view_token');
      assert.equal((await load(session_id, page, await tokenFor(served, session_id, scope))).status, 200);
    }
  });

  it('DELETE /v1/session/{session_id}/view-tokens closes the sockets of the links soon, and no others', async () => {
    const [{ session_id }, other] = [await served.create({ kind: 'full_browser' }), await served.create()];
    const openWith = async (id: string, path: string, scope: LinkScope): Promise<ViewSocket> =>
      ViewSocket.open(`${socketOf(id, path)}?token=${await tokenFor(served, id, scope)}`);
    const open = [
      await openWith(session_id, 'live-view/socket', 'view'),
      await openWith(session_id, 'live-view/socket', 'control'),
      await openWith(session_id, 'vnc/websockify', 'vnc'),
    ];
    const elsewhere = await openWith(other.session_id, 'live-view/socket', 'view');
    const startMs = performance.now();
    await revoke(session_id);
    for (const { closed } of open) assert.deepEqual(await closed, { code: 4003, reason: 'unauthorized' });
    assertSoon(startMs, 5000);
    assert.equal(elsewhere.socket.readyState, elsewhere.socket.OPEN);
    elsewhere.socket.terminate();
    assertError(await refusedSocket(`${socketOf(session_id, 'live-view/socket')}?token=x`), 403, 'invalid_view_token');
  });

  it('DELETE /v1/session/{session_id}/view-tokens is idempotent, also for a session without links and an ended session', async () => {
    const { session_id } = await served.create();
    await revoke(session_id);
    await revoke(session_id);
    await served.call(endSession, { params: { session_id } });
    await revoke(session_id);
    await revoke(await endedSession(served));
  });

  it('DELETE /v1/session/{session_id}/view-tokens revokes recording links, also after the session’s retention', async () => {
    const { sessionId, recId } = await recordedSession(served);
    const page = `recordings/${recId}/index.html`;
    const token = await tokenFor(served, sessionId, 'recording');
    const cookie = cookieOf(await load(sessionId, page, token));
    const { store } = served.app.fleet.deps;
    await store.tables<{ sessions: { session_id: string } }>().deleteFrom('sessions').where('session_id', '=', sessionId).execute();
    assert.equal((await load(sessionId, page, token)).status, 200);
    await revoke(sessionId);
    assertError(await load(sessionId, page, token), 403, 'invalid_view_token');
    assertError(await open(`${served.url}/v1/session/${sessionId}/${page}`, { cookie }), 403, 'invalid_view_token');
  });
});

describe('404 session_not_found', () => {
  it('DELETE /v1/session/{session_id}/view-tokens answers 404 session_not_found for an unknown id and a foreign session, whose links stay valid', async () => {
    const key = await served.ownerKey('landlady');
    const { session_id } = await served.create({}, { key });
    const token = await tokenFor(served, session_id, 'view', key);
    for (const id of ['ses_none', session_id]) await served.refuse(revokeViewTokens, 'session_not_found', { params: { session_id: id } });
    assert.equal((await load(session_id, 'live-view', token)).status, 200);
  });
});
