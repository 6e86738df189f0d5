import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { createViewToken, endSession, fetchPage, listSessions, revokeViewTokens } from '@berth/contract';
import { CookieJar } from 'tough-cookie';
import { ManualClock } from '@berth/lib/clock.ts';
import { createLog } from '@berth/lib/log.ts';
import { startApp, type Reply, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { recordedSession, recordingSession } from '../../prepare/recorded-session.ts';
import { assertError, endedSession, startingSession } from '../../contract/session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

const publicUrl = 'https://berth.example';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const create = async (from = served): Promise<string> => (await from.create()).session_id;
const pageOf = (sessionId: string, from = served): string => `${from.url}/v1/session/${sessionId}/live-view`;
const load = (sessionId: string, token: string, from = served): Promise<Reply> => open(`${pageOf(sessionId, from)}?token=${token}`);
const firstCookie = async (sessionId: string): Promise<string> => cookieOf(await load(sessionId, await tokenFor(served, sessionId)));
const isDead = (reply: Reply): unknown => assertError(reply, 403, 'invalid_view_token');
const minted = (): ReturnType<TestApp['app']['keys']['create']> =>
  served.app.keys.create({ owner: 'local', name: null, expiresInDays: null, createdBy: 'test', actor: 'operator' });

describe('200', () => {
  it('POST /v1/session/{session_id}/view-token creates a view link for five minutes by default', async () => {
    const session_id = await create();
    const { body } = await served.call(createViewToken, { params: { session_id } });
    assert.deepEqual([body.token_type, body.scope, body.session_id, body.expires_in], ['view', 'view', session_id, 300]);
    assert.equal(body.url, `${pageOf(session_id)}?token=${body.token}`);
    const seconds = (Date.parse(body.expires_at) - Date.now()) / 1000;
    assert.ok(seconds > 297 && seconds <= 300, `${seconds} s`);
    const page = await open(body.url);
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  });

  it('POST /v1/session/{session_id}/view-token creates a link with the requested lifetime and scope', async () => {
    const session_id = await create();
    for (const [scope, ttl_seconds] of [
      ['view', 30],
      ['control', 3600],
    ] as const) {
      const { body } = await served.call(createViewToken, { params: { session_id }, body: { scope, ttl_seconds } });
      assert.deepEqual([body.scope, body.expires_in], [scope, ttl_seconds]);
      const socket = await ViewSocket.open(`${pageOf(session_id).replace('http', 'ws')}/socket?token=${body.token}`);
      socket.socket.terminate();
    }
  });

  it('POST /v1/session/{session_id}/view-token with scope recording opens the newest recording during the session, after it and after its retention', async () => {
    const running = await recordingSession(served);
    const over = await recordedSession(served);
    for (const { sessionId, recId } of [running, over]) {
      const { body } = await served.call(createViewToken, { params: { session_id: sessionId }, body: { scope: 'recording' } });
      assert.equal(body.url, `${served.url}/v1/session/${sessionId}/recordings/${recId}/index.html?token=${body.token}`);
      const page = await open(body.url);
      assert.equal(page.status, 200, page.text);
      const [cookie = ''] = page.headers.getSetCookie();
      assert.match(cookie, new RegExp(`; Path=/v1/session/${sessionId}/recordings; HttpOnly; SameSite=Lax$`));
      const asset = `${served.url}/v1/session/${sessionId}/recordings/${recId}/recording.json`;
      assert.equal((await open(asset, { cookie: cookieOf(page) })).status, 200);
    }
    const { store } = served.app.fleet.deps;
    await store.tables<{ sessions: { session_id: string } }>().deleteFrom('sessions').where('session_id', '=', over.sessionId).execute();
    assert.equal(
      (await served.call(createViewToken, { params: { session_id: over.sessionId }, body: { scope: 'recording' } })).status,
      200,
    );
  });

  it('POST /v1/session/{session_id}/view-token opens the recording of an ended session by default', async () => {
    const over = await recordedSession(served);
    const { body } = await served.call(createViewToken, { params: { session_id: over.sessionId } });
    assert.equal(body.scope, 'recording');
    assert.equal((await open(body.url ?? '')).status, 200);
    const running = await recordingSession(served);
    assert.equal((await served.call(createViewToken, { params: { session_id: running.sessionId } })).body.scope, 'view');
    const request = { params: { session_id: over.sessionId }, body: { scope: 'view' } };
    await served.refuse(createViewToken, 'session_ended', request);
  });

  it('POST /v1/session/{session_id}/view-token creates a link while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    assert.equal((await load(sessionId, await tokenFor(served, sessionId))).status, 200);
    await release();
  });

  it('POST /v1/session/{session_id}/view-token creates links for fetch machines', async () => {
    await served.call(fetchPage, { body: { url: 'http://site.test/' } });
    const machine =
      (await served.call(listSessions, { query: { purpose: 'fetch' } })).body[0] ?? assert.fail('there is no machine of fetches');
    assert.equal((await load(machine.session_id, await tokenFor(served, machine.session_id))).status, 200);
  });

  it('POST /v1/session/{session_id}/view-token returns the token once; a repeated request has none', async () => {
    const request = { params: { session_id: await create() }, headers: { 'idempotency-key': 'one-link' } };
    const [first, second] = [await served.call(createViewToken, request), await served.call(createViewToken, request)];
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual([second.body.token, second.body.url, second.body.expires_at], [null, null, first.body.expires_at]);
  });
});

describe('the link', () => {
  it('a view link can be reused until it expires, each time with a new cookie that outlives it', async () => {
    const clock = new ManualClock();
    const clocked = await startApp({ clock });
    try {
      const { session_id } = await clocked.create({ timeout_seconds: 86_400, idle_timeout_seconds: 86_400 });
      const token = await tokenFor(clocked, session_id);
      clock.advance(299_000);
      const cookies = [cookieOf(await load(session_id, token, clocked)), cookieOf(await load(session_id, token, clocked))];
      assert.notEqual(cookies[0], cookies[1]);
      clock.advance(1000);
      isDead(await load(session_id, token, clocked));
      for (const cookie of cookies) assert.equal((await open(pageOf(session_id, clocked), { cookie })).status, 200);
      clock.advance(3_601_000);
      for (const cookie of cookies) isDead(await open(pageOf(session_id, clocked), { cookie }));
    } finally {
      await clocked.close();
    }
  });

  it('a view link and its cookie are invalid after the session has ended', async () => {
    const session_id = await create();
    const token = await tokenFor(served, session_id);
    const cookie = cookieOf(await load(session_id, token));
    await served.call(endSession, { params: { session_id } });
    isDead(await load(session_id, token));
    isDead(await open(pageOf(session_id), { cookie }));
  });

  it('a view link and its cookie are invalid from the next request after its key is revoked', async () => {
    const session_id = await create();
    const [{ key, raw }, cookieOfAnother] = [await minted(), await firstCookie(session_id)];
    const token = await tokenFor(served, session_id, 'view', raw);
    const cookie = cookieOf(await load(session_id, token));
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    isDead(await load(session_id, token));
    isDead(await open(pageOf(session_id), { cookie }));
    assert.equal((await open(pageOf(session_id), { cookie: cookieOfAnother })).status, 200);
  });

  it('a view link is answered like an unknown link for another owner', async () => {
    const key = await served.ownerKey('neighbour');
    const theirs = (await served.create({}, { key })).session_id;
    const token = await tokenFor(served, theirs, 'control', key);
    const mine = await create();
    isDead(await load(mine, token));
    isDead(await open(pageOf(mine), { cookie: cookieOf(await load(theirs, token)) }));
  });

  it('a view link cannot be altered', async () => {
    const session_id = await create();
    const parts = (await tokenFor(served, session_id)).split('.');
    const others = (await tokenFor(served, session_id, 'control')).split('.');
    const sealed = Buffer.from(parts[3] ?? '', 'base64url');
    for (const position of [0, Math.floor(sealed.length / 2), sealed.length - 1]) {
      const altered = Buffer.from(sealed);
      altered.writeUInt8(altered.readUInt8(position) ^ 1, position);
      isDead(await load(session_id, parts.with(3, altered.toString('base64url')).join('.')));
    }
    for (const part of [2, 3, 4]) isDead(await load(session_id, parts.with(part, others[part] ?? assert.fail()).join('.')));
    assert.equal((await load(session_id, parts.join('.'))).status, 200);
  });
});

describe('the cookie', () => {
  it('a view cookie is limited to its session’s path, not to ids with the same prefix', async () => {
    const session_id = await create();
    const [cookie = ''] = (await load(session_id, await tokenFor(served, session_id))).headers.getSetCookie();
    const jar = new CookieJar();
    await jar.setCookie(cookie, `${pageOf(session_id)}?token=x`);
    const isSent = async (address: string): Promise<boolean> => (await jar.getCookies(address)).length > 0;
    for (const address of [pageOf(session_id), `${pageOf(session_id)}/socket`]) assert.ok(await isSent(address), address);
    const elsewhere = [
      pageOf(`${session_id}d`),
      `${pageOf(session_id)}er`,
      pageOf(session_id).replace('live-view', 'vnc/vnc.html'),
      `${served.url}/docs`,
    ];
    for (const address of elsewhere) assert.ok(!(await isSent(address)), address);
  });

  it('a view cookie of another user, planted beside the own one, has no effect', async () => {
    const key = await served.ownerKey('mallory');
    const theirs = (await served.create({}, { key })).session_id;
    const planted = cookieOf(await load(theirs, await tokenFor(served, theirs, 'control', key)));
    const mine = await create();
    const own = await firstCookie(mine);
    isDead(await open(pageOf(mine), { cookie: planted }));
    for (const cookie of [`${planted}; ${own}`, `${own}; ${planted}`]) {
      assert.equal((await open(pageOf(mine), { cookie })).status, 200);
      const socket = await ViewSocket.open(`${pageOf(mine).replace('http', 'ws')}/socket`, { cookie, origin: served.url });
      const [hello] = await new Promise<ViewSocket['messages']>((resolve) => socket.socket.once('message', () => resolve(socket.messages)));
      assert.ok(hello?.type === 'hello' && hello.scope === 'view' && hello.session_id === mine, JSON.stringify(hello));
      socket.socket.terminate();
    }
  });

  it('a view cookie requires TLS when the service is behind TLS', async () => {
    const behindTls = await startApp({ environment: { BERTH_PUBLIC_URL: publicUrl } });
    try {
      const session_id = await create(behindTls);
      const { body } = await behindTls.call(createViewToken, { params: { session_id } });
      assert.equal(body.url, `${publicUrl}/v1/session/${session_id}/live-view?token=${body.token}`);
      const first = await load(session_id, body.token ?? '', behindTls);
      const [cookie = ''] = first.headers.getSetCookie();
      assert.match(
        cookie,
        new RegExp(`^__Secure-berth-view=[\\w-]{43}; Path=/v1/session/${session_id}/live-view; HttpOnly; SameSite=Lax; Secure$`),
      );
      const page = pageOf(session_id, behindTls);
      assert.equal((await open(page, { cookie: cookieOf(first) })).status, 200);
      assertError(await open(page, { cookie: cookieOf(first).replace('__Secure-', '') }), 401, 'missing_view_token');
      const socket = `${page.replace('http', 'ws')}/socket`;
      (await ViewSocket.open(socket, { cookie: cookieOf(first), origin: publicUrl })).socket.terminate();
      assertError(await refusedSocket(socket, { cookie: cookieOf(first), origin: behindTls.url }), 403, 'origin_not_allowed');
    } finally {
      await behindTls.close();
    }
  });
});

describe('the log', () => {
  it('the log contains no view token, cookie or key', async () => {
    const destination = new PassThrough();
    let lines = '';
    destination.on('data', (chunk: Buffer) => (lines += chunk.toString()));
    const logged = await startApp({ log: createLog('debug', { destination }) });
    const reported: string[] = [];
    const secrets: string[] = [logged.key];
    try {
      const { session_id } = await logged.create({ kind: 'full_browser', record: true });
      for (const [scope, path] of [
        ['view', 'live-view'],
        ['vnc', 'vnc/vnc.html'],
        ['recording', 'recordings/x/index.html'],
      ] as const) {
        const token = await tokenFor(logged, session_id, scope);
        const address = `${logged.url}/v1/session/${session_id}/${path}`;
        const first = await open(`${address}?token=${token}`);
        const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? 'berth-view=planted-by-the-test';
        secrets.push(token, cookie.split('=')[1] ?? '');
        const replies = [
          first,
          await open(address, { cookie }),
          await open(`${address}?token=${token}x`),
          await open(`${address}?token=${logged.key}`),
        ];
        replies.push(
          await open(`${address}%3Ftoken=${token}`),
          await open(`${address}/nowhere?token=${token}`),
          await open(`${address}?token=${token}&token=${token}`),
        );
        reported.push(...replies.map(({ text, headers }) => text + (headers.get('location') ?? '')));
        reported.push(
          (await refusedSocket(`${logged.url.replace('http', 'ws')}/v1/session/${session_id}/live-view/socket?token=x${token}`)).text,
        );
      }
      await logged.call(revokeViewTokens, { params: { session_id } });
    } finally {
      await logged.close();
    }
    assert.ok(lines.includes('/live-view"') && lines.includes('/vnc/vnc.html"'), 'requests are logged');
    for (const secret of secrets) {
      assert.ok(secret.length > 10);
      assert.ok(!lines.includes(secret), 'it is in the log');
      assert.ok(!reported.some((text) => text.includes(secret)), 'it is in an answer');
    }
  });
});

describe('404 session_not_found', () => {
  it('POST /v1/session/{session_id}/view-token answers 404 session_not_found for an unknown id and a foreign session', async () => {
    const key = await served.ownerKey('landlady');
    const foreign = (await recordedSession(served, { key })).sessionId;
    for (const session_id of ['ses_none', foreign])
      for (const scope of ['view', 'control', 'recording'] as const)
        await served.refuse(createViewToken, 'session_not_found', { params: { session_id }, body: { scope } });
  });
});

describe('404 recording_not_found', () => {
  it('POST /v1/session/{session_id}/view-token answers 404 recording_not_found for a session without a recording, during the session and after it', async () => {
    for (const session_id of [await create(), await endedSession(served)])
      await served.refuse(createViewToken, 'recording_not_found', { params: { session_id }, body: { scope: 'recording' } });
  });
});

describe('409 session_ended', () => {
  it('POST /v1/session/{session_id}/view-token answers 409 session_ended after the end', async () => {
    const session_id = await endedSession(served);
    for (const scope of ['view', 'control'] as const) {
      const { details } = await served.refuse(createViewToken, 'session_ended', { params: { session_id }, body: { scope } });
      assert.equal(details['ended_reason'], 'requested');
    }
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/view-token refuses a lifetime out of bounds and an unknown scope with 422', async () => {
    const params = { session_id: await create() };
    for (const [body, type] of [
      [{ ttl_seconds: 29 }, 'greater_than_equal'],
      [{ ttl_seconds: 3601 }, 'less_than_equal'],
      [{ scope: 'vnc' }, 'literal_error'],
      [{ scope: 'control', ttl: 60 }, 'extra_forbidden'],
    ] as const) {
      const issues = await served.issues(createViewToken, { params, body });
      assert.deepEqual(
        issues.map((issue) => issue.type),
        [type],
      );
    }
  });
});
