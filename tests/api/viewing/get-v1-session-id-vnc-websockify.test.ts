import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, revokeViewTokens, watchVnc } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import type { FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { assertError, machineOf, startingSession } from '../../contract/session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const pathOf = (sessionId: string): string => `/v1/session/${sessionId}/vnc/websockify`;
const addressOf = (sessionId: string, from: TestApp = served): string => from.url.replace('http', 'ws') + pathOf(sessionId);
const create = async (from: TestApp = served, body: object = {}): Promise<string> =>
  (await from.create({ kind: 'full_browser', ...body })).session_id;
const withToken = (sessionId: string, token: string, from?: TestApp): string => `${addressOf(sessionId, from)}?token=${token}`;
const show = async (sessionId: string, from = served, key = from.key): Promise<ViewSocket> =>
  ViewSocket.open(withToken(sessionId, await tokenFor(from, sessionId, 'vnc', key), from));
const cookieFor = async (sessionId: string): Promise<string> =>
  cookieOf(await open(`${served.url}/v1/session/${sessionId}/vnc/vnc.html?token=${await tokenFor(served, sessionId, 'vnc')}`));
const displayOf = (sessionId: string, from = served): NonNullable<FakeVm['display']> =>
  machineOf(from, sessionId).display ?? assert.fail('there is no display');
const received = ({ bytes }: ViewSocket): string => Buffer.concat(bytes).toString('latin1');
const greeting = 'RFB 003.008\n';
const pointer = Buffer.from([5, 1, 0, 10, 0, 10]);
const updateRequest = Buffer.from([3, 1, 0, 0, 0, 0, 5, 0, 2, 208]);

describe('101', () => {
  it('GET /v1/session/{session_id}/vnc/websockify relays the display’s bytes unchanged in both directions', async () => {
    const sessionId = await create();
    const viewer = await show(sessionId);
    await eventually('the display has sent its greeting', () => received(viewer) === greeting);
    const sent = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256));
    viewer.socket.send(sent.subarray(0, 1));
    viewer.socket.send(sent.subarray(1));
    // The simulated display echoes its input.
    await eventually('all came back', () => received(viewer) === greeting + sent.toString('latin1'));
    assert.ok(Buffer.concat(displayOf(sessionId).received[0] ?? []).equals(sent));
    viewer.socket.close();
    await eventually('the display has no client', () => displayOf(sessionId).connections === 0);
  });

  it('GET /v1/session/{session_id}/vnc/websockify relays more than one buffer at once', async () => {
    const sessionId = await create();
    const viewer = await show(sessionId);
    const piece = Buffer.alloc(500_000, 7);
    for (let turn = 0; turn < 20; turn += 1) viewer.socket.send(piece);
    await eventually(
      'all came back',
      () => viewer.bytes.reduce((sum, { length }) => sum + length, 0) === greeting.length + 20 * piece.length,
      60_000,
    );
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/vnc/websockify accepts the page’s cookie from its own origin', async () => {
    const sessionId = await create();
    const viewer = await ViewSocket.open(addressOf(sessionId), { cookie: await cookieFor(sessionId), origin: served.url });
    await eventually('the display has sent its greeting', () => received(viewer) === greeting);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/vnc/websockify is counted as a viewer and emits events', async () => {
    const sessionId = await create();
    const viewer = await show(sessionId);
    const viewers = async () => (await served.call(getSession, { params: { session_id: sessionId } })).body.connections.viewers;
    assert.equal(await viewers(), 1);
    viewer.socket.terminate();
    await eventually('it is not counted', async () => (await viewers()) === 0);
    const reported = (served.app.sessions.live.get(sessionId)?.events.after(0) ?? []).filter(({ type }) => type.startsWith('viewer.'));
    assert.deepEqual(
      reported.map(({ type, data }) => [type, data]),
      [
        ['viewer.joined', { viewers: 1, scope: 'vnc' }],
        ['viewer.left', { viewers: 0, scope: 'vnc' }],
      ],
    );
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 4009 limit when too many are open, and a closed socket frees a slot', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId, 'vnc');
    const viewers = await Promise.all(Array.from({ length: 10 }, () => ViewSocket.open(withToken(sessionId, token))));
    const late = await ViewSocket.open(withToken(sessionId, token));
    assert.deepEqual(await late.closed, { code: 4009, reason: 'limit' });
    viewers[0]?.socket.terminate();
    await eventually('one has disconnected', () => displayOf(sessionId).connections === 9);
    const next = await ViewSocket.open(withToken(sessionId, token));
    await eventually('the next client is greeted', () => received(next) === greeting);
    for (const { socket } of [...viewers, next]) socket.terminate();
    await eventually('all have left', () => displayOf(sessionId).connections === 0);
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 4000 and the reason at the end of the session', async () => {
    const sessionId = await create();
    const viewer = await show(sessionId);
    await served.call(endSession, { params: { session_id: sessionId } });
    assert.deepEqual(await viewer.closed, { code: 4000, reason: 'requested' });
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 4008 browser_crashed when the display or the browser exits', async () => {
    const [first, second] = [await create(), await create()];
    const [shown, other] = [await show(first), await show(second)];
    displayOf(first).end();
    assert.deepEqual(await shown.closed, { code: 4008, reason: 'browser_crashed' });
    machineOf(served, second).crash();
    assert.deepEqual(await other.closed, { code: 4008, reason: 'browser_crashed' });
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 4010 bad_message when the display refuses what the client sends', async () => {
    const sessionId = await create();
    const viewer = await show(sessionId);
    displayOf(sessionId).dropClients();
    assert.deepEqual(await viewer.closed, { code: 4010, reason: 'bad_message' });
    const next = await show(sessionId);
    await eventually('the next client is greeted', () => received(next) === greeting);
    next.socket.terminate();
    await eventually('nothing is left', () => displayOf(sessionId).connections === 0);
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 4003 unauthorized soon after its links or its key are revoked', async () => {
    const sessionId = await create();
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const byKey = await show(sessionId, served, raw);
    const other = await show(sessionId);
    const startMs = performance.now();
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    assert.deepEqual(await byKey.closed, { code: 4003, reason: 'unauthorized' });
    assert.equal(other.socket.readyState, other.socket.OPEN);
    await served.call(revokeViewTokens, { params: { session_id: sessionId } });
    assert.deepEqual(await other.closed, { code: 4003, reason: 'unauthorized' });
    assertSoon(startMs, 5000);
    await eventually('the display has no client', () => displayOf(sessionId).connections === 0);
  });

  it('GET /v1/session/{session_id}/vnc/websockify is closed with 1012 service_restart when the service stops', async () => {
    const stopping = await startApp();
    const viewer = await show(await create(stopping), stopping);
    await stopping.close();
    assert.deepEqual(await viewer.closed, { code: 1012, reason: 'service_restart' });
  });

  it('GET /v1/session/{session_id}/vnc/websockify resets the idle timer by input, not by frames', async () => {
    const clock = new ManualClock();
    const still = await startApp({ clock });
    const sessionId = await create(still, { idle_timeout_seconds: 30 });
    const viewer = await show(sessionId, still);
    const sent = async (message: Buffer): Promise<void> => {
      const before = received(viewer).length;
      viewer.socket.send(message);
      await eventually('it was logged', () => received(viewer).length > before);
    };
    const activity = () => still.app.sessions.live.get(sessionId)?.lastActivityAt().toISOString();
    await eventually('the display has sent its greeting', () => received(viewer) === greeting);
    clock.advance(10_000);
    const then = clock.now().toISOString();
    await sent(pointer);
    assert.equal(activity(), then);
    clock.advance(10_000);
    await sent(updateRequest);
    assert.equal(activity(), then);
    viewer.socket.terminate();
    await still.close();
  });
});

describe('400 bad_request', () => {
  it('GET /v1/session/{session_id}/vnc/websockify answers 400 bad_request for a request without an upgrade', async () => {
    const sessionId = await create();
    const reply = await open(`${served.url}${pathOf(sessionId)}?token=${await tokenFor(served, sessionId, 'vnc')}`);
    assertError(reply, 400, 'bad_request');
    assert.match(reply.text, /Upgrade: websocket/);
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/vnc/websockify answers 401 missing_view_token before the handshake, also with an API key', async () => {
    const sessionId = await create();
    assertError(await refusedSocket(addressOf(sessionId)), 401, 'missing_view_token');
    assertError(await refusedSocket(addressOf(sessionId), { authorization: `Bearer ${served.key}` }), 401, 'missing_view_token');
    await served.refuse(watchVnc, 'missing_view_token', { params: { session_id: sessionId } });
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/vnc/websockify answers 403 invalid_view_token before the handshake for every invalid link', async () => {
    const [mine, other] = [await create(), await create()];
    const ended = await create();
    const endedToken = await tokenFor(served, ended, 'vnc');
    await served.call(endSession, { params: { session_id: ended } });
    for (const address of [
      withToken(other, await tokenFor(served, mine, 'vnc')),
      withToken('ses_none', await tokenFor(served, mine, 'vnc')),
      withToken(mine, await tokenFor(served, mine, 'control')),
      withToken(ended, endedToken),
    ])
      assertError(await refusedSocket(address), 403, 'invalid_view_token');
    assertError(await refusedSocket(addressOf(other), { cookie: await cookieFor(mine), origin: served.url }), 403, 'invalid_view_token');
    assert.equal(displayOf(mine).received.length, 0);
  });
});

describe('403 origin_not_allowed', () => {
  it('GET /v1/session/{session_id}/vnc/websockify refuses other origins, and a cookie without an Origin header, with 403 origin_not_allowed', async () => {
    const sessionId = await create();
    const cookie = await cookieFor(sessionId);
    for (const origin of ['https://evil.example', 'null', `${served.url}.evil.example`])
      assertError(await refusedSocket(addressOf(sessionId), { cookie, origin }), 403, 'origin_not_allowed');
    assertError(await refusedSocket(addressOf(sessionId), { cookie }), 403, 'origin_not_allowed');
    assert.equal(displayOf(sessionId).received.length, 0);
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/vnc/websockify answers 409 session_not_ready before the handshake while the machine starts', async () => {
    const { sessionId, release } = await startingSession(served, { kind: 'full_browser' });
    assertError(await refusedSocket(withToken(sessionId, await tokenFor(served, sessionId, 'vnc'))), 409, 'session_not_ready');
    await release();
  });

  it('GET /v1/session/{session_id}/vnc/websockify answers 409 session_not_ready before the handshake after the display has exited', async () => {
    const sessionId = await create();
    displayOf(sessionId).end();
    const reply = await refusedSocket(withToken(sessionId, await tokenFor(served, sessionId, 'vnc')));
    assertError(reply, 409, 'session_not_ready');
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/vnc/websockify refuses two tokens with 422', async () => {
    const sessionId = await create();
    const reply = await refusedSocket(`${addressOf(sessionId)}?token=a&token=b`, {
      cookie: await cookieFor(sessionId),
      origin: served.url,
    });
    assert.equal(reply.status, 422);
    assert.match(reply.text, /"type":"string_type"/);
  });
});
