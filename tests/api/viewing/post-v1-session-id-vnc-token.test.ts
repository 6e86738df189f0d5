import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createVncToken, endSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { assertError, startingSession } from '../../contract/session-states.ts';
import { cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const create = async (): Promise<string> => (await served.create({ kind: 'full_browser' })).session_id;

describe('200', () => {
  it('POST /v1/session/{session_id}/vnc-token creates a link to the window for five minutes or the requested time', async () => {
    const session_id = await create();
    for (const [body, seconds] of [
      [{}, 300],
      [{ ttl_seconds: 30 }, 30],
    ] as const) {
      const reply = await served.call(createVncToken, { params: { session_id }, body });
      assert.deepEqual([reply.body.token_type, reply.body.session_id, reply.body.expires_in], ['vnc', session_id, seconds]);
      assert.equal(reply.body.url, `${served.url}/v1/session/${session_id}/vnc/vnc.html?token=${reply.body.token}`);
      const page = await open(reply.body.url);
      assert.equal(page.status, 200, page.text);
      const [cookie = ''] = page.headers.getSetCookie();
      assert.match(cookie, new RegExp(`^berth-view=[\\w-]{43}; Path=/v1/session/${session_id}/vnc; HttpOnly; SameSite=Lax$`));
    }
  });

  it('POST /v1/session/{session_id}/vnc-token grants access to the window only, and live view links do not', async () => {
    const { session_id } = await served.create({ kind: 'full_browser' });
    const at = (path: string): string => `${served.url}/v1/session/${session_id}/${path}`;
    const vnc = await tokenFor(served, session_id, 'vnc');
    const cookie = cookieOf(await open(`${at('vnc/vnc.html')}?token=${vnc}`));
    for (const path of ['live-view', 'recordings/x/index.html']) {
      assertError(await open(`${at(path)}?token=${vnc}`), 403, 'invalid_view_token');
      assertError(await open(at(path), { cookie }), 403, 'invalid_view_token');
    }
    for (const scope of ['view', 'control'] as const)
      assertError(await open(`${at('vnc/vnc.html')}?token=${await tokenFor(served, session_id, scope)}`), 403, 'invalid_view_token');
  });

  it('POST /v1/session/{session_id}/vnc-token creates a link while the session starts', async () => {
    const { sessionId, release } = await startingSession(served, { kind: 'full_browser' });
    assert.equal((await served.call(createVncToken, { params: { session_id: sessionId } })).status, 200);
    await release();
  });
});

describe('404 session_not_found', () => {
  it('POST /v1/session/{session_id}/vnc-token answers 404 session_not_found for an unknown id and a foreign session', async () => {
    const key = await served.ownerKey('landlady');
    const { session_id } = await served.create({ kind: 'full_browser' }, { key });
    for (const id of ['ses_none', session_id]) await served.refuse(createVncToken, 'session_not_found', { params: { session_id: id } });
  });
});

describe('409 vnc_unavailable', () => {
  it('POST /v1/session/{session_id}/vnc-token answers 409 vnc_unavailable for a session without a window', async () => {
    const { session_id } = await served.create();
    const { reply } = await served.refuse(createVncToken, 'vnc_unavailable', { params: { session_id } });
    assert.equal(reply.headers.get('x-should-retry'), 'false');
  });
});

describe('409 session_ended', () => {
  it('POST /v1/session/{session_id}/vnc-token answers 409 session_ended after the session has ended', async () => {
    const session_id = await create();
    await served.call(endSession, { params: { session_id } });
    await served.refuse(createVncToken, 'session_ended', { params: { session_id } });
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/vnc-token refuses a lifetime out of bounds and a scope with 422', async () => {
    const params = { session_id: await create() };
    for (const body of [{ ttl_seconds: 29 }, { ttl_seconds: 3601 }, { scope: 'view' }]) {
      const issues = await served.issues(createVncToken, { params, body });
      assert.deepEqual(
        issues.map(({ loc }) => loc),
        [['body', Object.keys(body)[0]]],
      );
    }
  });
});
