import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { createViewToken, endSession, fetchPage, listSessions, revokeViewTokens } from '@berth/contract';
import { CookieJar } from 'tough-cookie';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { createLog } from '../../packages/server/src/lib/log.ts';
import { startApp, type Reply, type TestApp } from '../harness.ts';
import { refusedSocket } from '../raw-http.ts';
import { recordedSession, recordingSession } from '../recorded-session.ts';
import { assertError, endedSession, startingSession } from '../session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor } from '../view-links.ts';

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
const minted = (): ReturnType<TestApp['app']['keys']['mint']> =>
  served.app.keys.mint({ owner: 'local', name: null, expiresInDays: null, createdBy: 'test', actor: 'operator' });

describe('200', () => {
  it('is a link that a browser opens, for five minutes, where nothing is asked for', async () => {
    const session_id = await create();
    const { body } = await served.call(createViewToken, { params: { session_id } });
    assert.deepEqual([body.token_type, body.scope, body.session_id, body.expires_in], ['view', 'view', session_id, 300]);
    assert.equal(body.url, `${pageOf(session_id)}?token=${body.token}`);
    const seconds = (Date.parse(body.expires_at) - Date.now()) / 1000;
    assert.ok(seconds > 297 && seconds <= 300, `${seconds} s`);
    const page = await open(body.url);
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  });

  it('is for as long and as much as was asked', async () => {
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

  it('opens the newest recording while it is made, when it is over, and when the session is forgotten', async () => {
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

  it('can be asked for while the session starts', async () => {
    const { sessionId, give } = await startingSession(served);
    assert.equal((await load(sessionId, await tokenFor(served, sessionId))).status, 200);
    await give();
  });

  it('watches a machine of one’s fetches like any other session', async () => {
    await served.call(fetchPage, { body: { url: 'http://site.test/' } });
    const machine =
      (await served.call(listSessions)).body.find(({ purpose }) => purpose === 'fetch') ?? assert.fail('there is no machine of fetches');
    assert.equal((await load(machine.session_id, await tokenFor(served, machine.session_id))).status, 200);
  });

  it('is told once: a repetition of the request has no token', async () => {
    const request = { params: { session_id: await create() }, headers: { 'idempotency-key': 'one-link' } };
    const [first, second] = [await served.call(createViewToken, request), await served.call(createViewToken, request)];
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual([second.body.token, second.body.url, second.body.expires_at], [null, null, first.body.expires_at]);
  });
});

describe('the link', () => {
  it('opens again until its time is over, each time with a cookie of its own, which outlives it', async () => {
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

  it('and its cookie are dead when the session has ended', async () => {
    const session_id = await create();
    const token = await tokenFor(served, session_id);
    const cookie = cookieOf(await load(session_id, token));
    await served.call(endSession, { params: { session_id } });
    isDead(await load(session_id, token));
    isDead(await open(pageOf(session_id), { cookie }));
  });

  it('and its cookie are dead at the next request when the key that made it is revoked', async () => {
    const session_id = await create();
    const [{ key, raw }, cookieOfAnother] = [await minted(), await firstCookie(session_id)];
    const token = await tokenFor(served, session_id, 'view', raw);
    const cookie = cookieOf(await load(session_id, token));
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    isDead(await load(session_id, token));
    isDead(await open(pageOf(session_id), { cookie }));
    assert.equal((await open(pageOf(session_id), { cookie: cookieOfAnother })).status, 200);
  });

  it('is as dead in the name of another owner as one that never was', async () => {
    const key = await served.ownerKey('neighbour');
    const theirs = (await served.create({}, { key })).session_id;
    const token = await tokenFor(served, theirs, 'control', key);
    const mine = await create();
    isDead(await load(mine, token));
    isDead(await open(pageOf(mine), { cookie: cookieOf(await load(theirs, token)) }));
  });

  it('cannot be changed into another', async () => {
    const session_id = await create();
    const [payload = '', signature = ''] = (await tokenFor(served, session_id)).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    for (const change of [
      { scope: 'control' },
      { session: await create() },
      { expiresAt: 9e9 },
      { purpose: 'vnc' },
      { owner: 'neighbour' },
    ]) {
      const forged = Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url');
      isDead(await load(session_id, `${forged}.${signature}`));
    }
  });
});

describe('the cookie', () => {
  it('is sent by a browser to its one place, and to no session whose name only begins alike', async () => {
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

  it('of somebody else, planted beside one’s own, changes nothing', async () => {
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

  it('is for TLS alone where the service is behind it', async () => {
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

describe('no line of the log', () => {
  it('holds a token, a cookie or a key, whatever is done with them', async () => {
    const destination = new PassThrough();
    let lines = '';
    destination.on('data', (chunk: Buffer) => (lines += chunk.toString()));
    const logged = await startApp({ log: createLog('debug', { destination }) });
    const told: string[] = [];
    const secrets: string[] = [logged.key];
    try {
      const { session_id } = await logged.create({ kind: 'full_browser', record: true });
      for (const [scope, place] of [
        ['view', 'live-view'],
        ['vnc', 'vnc/vnc.html'],
        ['recording', 'recordings/x/index.html'],
      ] as const) {
        const token = await tokenFor(logged, session_id, scope);
        const address = `${logged.url}/v1/session/${session_id}/${place}`;
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
        told.push(...replies.map(({ text, headers }) => text + (headers.get('location') ?? '')));
        told.push(
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
      assert.ok(!told.some((text) => text.includes(secret)), 'it is in an answer');
    }
  });
});

describe('404 session_not_found', () => {
  it('is the answer to an id that is none, and to somebody else’s session', async () => {
    const key = await served.ownerKey('landlady');
    const foreign = (await recordedSession(served, { key })).sessionId;
    for (const session_id of ['ses_none', foreign])
      for (const scope of ['view', 'control', 'recording'] as const)
        await served.refuse(createViewToken, 'session_not_found', { params: { session_id }, body: { scope } });
  });
});

describe('404 recording_not_found', () => {
  it('is the answer where nothing was recorded, while the session lives and after it', async () => {
    for (const session_id of [await create(), await endedSession(served)])
      await served.refuse(createViewToken, 'recording_not_found', { params: { session_id }, body: { scope: 'recording' } });
  });
});

describe('409 session_ended', () => {
  it('is the answer where there is nothing to watch any more', async () => {
    const session_id = await endedSession(served);
    for (const scope of ['view', 'control'] as const) {
      const { details } = await served.refuse(createViewToken, 'session_ended', { params: { session_id }, body: { scope } });
      assert.equal(details['ended_reason'], 'requested');
    }
  });
});

describe('422', () => {
  it('refuses a time that is too short or too long, and a scope that there is not', async () => {
    const params = { session_id: await create() };
    for (const [body, type] of [
      [{ ttl_seconds: 29 }, 'greater_than_equal'],
      [{ ttl_seconds: 3601 }, 'less_than_equal'],
      [{ scope: 'vnc' }, 'literal_error'],
      [{ scope: 'control', ttl: 60 }, 'extra_forbidden'],
    ] as const) {
      const faults = await served.faults(createViewToken, { params, body });
      assert.deepEqual(
        faults.map((fault) => fault.type),
        [type],
      );
    }
  });
});
