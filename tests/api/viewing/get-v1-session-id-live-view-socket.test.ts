import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, listTabs, revokeViewTokens, watchLiveView } from '@berth/contract';
import type { LiveViewCommand } from '@berth/contract/live-view';
import { ManualClock } from '@berth/lib/clock.ts';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { assertError, machineOf, startingSession } from '../../contract/session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor, type LinkScope } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const pathOf = (sessionId: string): string => `/v1/session/${sessionId}/live-view/socket`;
const addressOf = (sessionId: string, from: TestApp = served): string => from.url.replace('http', 'ws') + pathOf(sessionId);
const create = async (from: TestApp = served): Promise<string> => (await from.create()).session_id;
const withToken = (sessionId: string, token: string, from?: TestApp): string => `${addressOf(sessionId, from)}?token=${token}`;
async function watch(
  sessionId: string,
  { scope = 'view', from = served, key = from.key }: { scope?: LinkScope; from?: TestApp; key?: string } = {},
) {
  return ViewSocket.open(withToken(sessionId, await tokenFor(from, sessionId, scope, key), from));
}
const viewersOf = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body.connections.viewers;
const click = (action: 'down' | 'up'): LiveViewCommand => ({
  type: 'mouse',
  action,
  x: 10,
  y: 20,
  button: 'left',
  buttons: 1,
  clicks: 1,
  modifiers: 0,
});
const cookieFor = async (sessionId: string): Promise<string> =>
  cookieOf(await open(`${served.url}/v1/session/${sessionId}/live-view?token=${await tokenFor(served, sessionId)}`));

describe('101', () => {
  it('GET /v1/session/{session_id}/live-view/socket sends the greeting, the tabs and a frame immediately', async () => {
    const session = await served.create({ start_url: 'http://site.test/' });
    const viewer = await watch(session.session_id);
    await eventually('a picture is there', () => viewer.frames().length > 0);
    const [hello, state] = viewer.messages;
    assert.deepEqual(hello, { type: 'hello', session_id: session.session_id, scope: 'view', expires_at: session.expires_at });
    assert.ok(state?.type === 'state');
    assert.deepEqual(
      state.tabs.map(({ url, active, status }) => ({ url, active, status })),
      [{ url: 'http://site.test/', active: true, status: 'complete' }],
    );
    const [frame] = viewer.frames();
    assert.deepEqual([frame?.width, frame?.height, frame?.picture.slice(0, 2)], [1280, 720, '\xff\xd8']);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket accepts the page’s cookie from its own origin', async () => {
    const sessionId = await create();
    const viewer = await ViewSocket.open(addressOf(sessionId), { cookie: await cookieFor(sessionId), origin: served.url });
    await eventually('it is greeted', () => viewer.messages.length > 0);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket sends the newest frame after each acknowledgement, with at most two unacknowledged', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId);
    const { browser } = machineOf(served, sessionId);
    await eventually('the first has arrived', () => viewer.frames().length === 1);
    for (const picture of ['a', 'b', 'c']) browser.draw(Buffer.from(picture));
    await eventually('two have started', () => viewer.frames().length === 2);
    browser.draw(Buffer.from('the newest'));
    // Frames that were drawn before may still be on their way, and each takes an acknowledgement.
    let [acknowledged, unacknowledgedMax] = [0, 0];
    await eventually('the newest frame has arrived', () => {
      const frames = viewer.frames();
      unacknowledgedMax = Math.max(unacknowledgedMax, frames.length - acknowledged);
      acknowledged = frames.length;
      viewer.send({ type: 'ack', seq: frames.at(-1)?.seq ?? 0 });
      return frames.at(-1)?.picture === 'the newest';
    });
    assert.equal(unacknowledgedMax, 2);
    assert.ok(viewer.frames().length <= 6);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket is counted in the session, emits events and leaves no screencast', async () => {
    const sessionId = await create();
    const [first, second] = [await watch(sessionId), await watch(sessionId, { scope: 'control' })];
    await eventually('both are counted', async () => (await viewersOf(sessionId)) === 2);
    const { browser } = machineOf(served, sessionId);
    await eventually('both viewers share one screencast', () => browser.screencasts.length === 1);
    first.socket.close();
    second.socket.terminate();
    await eventually('none is counted', async () => (await viewersOf(sessionId)) === 0);
    await eventually('the screencast has stopped', () => browser.screencasts.length === 0);
    const events = served.app.sessions.live.get(sessionId)?.events.after(0) ?? [];
    const reported = events
      .filter(({ type }) => type.startsWith('viewer.'))
      .map(({ type, data }) => [type, data['scope'], data['viewers']].join(' '));
    assert.deepEqual(reported.slice(0, 2), ['viewer.joined view 1', 'viewer.joined control 2']);
    assert.equal(reported.length, 4);
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4009 limit when there are too many viewers', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId);
    const viewers = await Promise.all(Array.from({ length: 50 }, () => ViewSocket.open(withToken(sessionId, token))));
    await eventually('all are counted', async () => (await viewersOf(sessionId)) === 50);
    const late = await ViewSocket.open(withToken(sessionId, token));
    assert.deepEqual(await late.closed, { code: 4009, reason: 'limit' });
    assert.equal(await viewersOf(sessionId), 50);
    for (const { socket } of viewers) socket.terminate();
    await eventually('all viewers have disconnected', async () => (await viewersOf(sessionId)) === 0);
  });

  it('GET /v1/session/{session_id}/live-view/socket leaves nothing of two hundred viewers', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId);
    for (let turn = 0; turn < 10; turn += 1) {
      const viewers = await Promise.all(Array.from({ length: 20 }, () => ViewSocket.open(withToken(sessionId, token))));
      for (const { socket } of viewers) socket.terminate();
      await Promise.all(viewers.map(({ closed }) => closed));
    }
    await eventually('all viewers have disconnected', async () => (await viewersOf(sessionId)) === 0);
    await eventually('the screencast has stopped', () => machineOf(served, sessionId).browser.screencasts.length === 0);
  });

  it('GET /v1/session/{session_id}/live-view/socket ignores input of a view link', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId);
    const commands: LiveViewCommand[] = [
      click('down'),
      { type: 'text', text: 'x' },
      { type: 'copy' },
      { type: 'tab', action: 'open' },
      { type: 'navigate', to: 'url', url: 'http://elsewhere.test/' },
      { type: 'resize', width: 500, height: 500 },
      { type: 'answer', prompt_id: 1, accept: true },
      { type: 'upload', upload: 1, name: 'a.txt', data: 'eA==', is_last: true },
    ];
    for (const command of commands) assert.equal(await viewer.failure(() => viewer.send(command)), 'not_allowed');
    assert.deepEqual(machineOf(served, sessionId).browser.inputs, []);
    assert.equal((await served.call(listTabs, { params: { session_id: sessionId } })).body.length, 1);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket forwards mouse, keys and text of a control link, and releases them on disconnect', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    const { inputs } = machineOf(served, sessionId).browser;
    const kinds = (): string[] =>
      inputs.map(({ method, params }) => `${method.replace('Input.', '')} ${String(params['type'] ?? params['text'])}`);
    viewer.send(click('down'));
    viewer.send({ type: 'key', action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 });
    viewer.send({ type: 'text', text: '漢字' });
    await eventually('all has arrived', () => kinds().includes('insertText 漢字'));
    assert.ok(kinds().includes('dispatchMouseEvent mousePressed'), kinds().join());
    assert.ok(
      kinds().some((kind) => /^dispatchKeyEvent (rawKeyDown|keyDown)$/.test(kind)),
      kinds().join(),
    );
    viewer.socket.terminate();
    await eventually('the button is released', () => kinds().includes('dispatchMouseEvent mouseReleased'));
    await eventually('the key is released', () => kinds().includes('dispatchKeyEvent keyUp'));
  });

  it('GET /v1/session/{session_id}/live-view/socket opens, activates and closes tabs for a control link, within the session’s rules', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    const tabs = () => viewer.of('state').at(-1)?.tabs ?? [];
    await eventually('the first tab is reported', () => tabs().length === 1);
    const first = tabs()[0]?.tab_id ?? '';
    viewer.send({ type: 'tab', action: 'open' });
    await eventually('the second tab is active', () => tabs().length === 2 && tabs()[1]?.active === true);
    viewer.send({ type: 'tab', action: 'activate', tab_id: first });
    await eventually('the first is shown', () => tabs()[0]?.active === true);
    assert.equal(await viewer.failure(() => viewer.send({ type: 'tab', action: 'activate', tab_id: 'none' })), 'tab_not_found');
    viewer.send({ type: 'tab', action: 'close', tab_id: first });
    await eventually('one remains', () => tabs().length === 1);
    assert.equal(await viewer.failure(() => viewer.send({ type: 'tab', action: 'close', tab_id: tabs()[0]?.tab_id ?? '' })), 'last_tab');
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket navigates for a control link as a drive call does', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    const url = () => viewer.of('state').at(-1)?.tabs[0]?.url;
    viewer.send({ type: 'navigate', to: 'url', url: 'http://one.test/' });
    await eventually('it has arrived', () => url() === 'http://one.test/');
    viewer.send({ type: 'navigate', to: 'url', url: 'http://two.test/' });
    await eventually('it is at the next event', () => url() === 'http://two.test/');
    viewer.send({ type: 'navigate', to: 'back' });
    await eventually('it is at the earlier page', () => url() === 'http://one.test/');
    viewer.send({ type: 'navigate', to: 'forward' });
    await eventually('it is at the later page', () => url() === 'http://two.test/');
    assert.equal(
      await viewer.failure(() => viewer.send({ type: 'navigate', to: 'url', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' })),
      'navigation_failed',
    );
    for (const forbidden of ['file:///etc/passwd', 'chrome://version', 'javascript:alert(1)', 'site.test', ''])
      assert.equal(await viewer.failure(() => viewer.send({ type: 'navigate', to: 'url', url: forbidden })), 'bad_request', forbidden);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket replaces a pending navigation with the next one, however often', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    for (let turn = 0; turn < 10; turn += 1) viewer.send({ type: 'navigate', to: 'url', url: 'http://hang.test/' });
    await eventually('it is running', () => served.app.sessions.live.get(sessionId)?.driving === 1);
    viewer.send({ type: 'navigate', to: 'url', url: 'http://two.test/' });
    await eventually('it is at the next event', () => viewer.of('state').at(-1)?.tabs[0]?.url === 'http://two.test/');
    assert.deepEqual(viewer.of('failed'), []);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket cancels pending input on disconnect', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    viewer.send({ type: 'navigate', to: 'url', url: 'http://hang.test/' });
    const driving = () => served.app.sessions.live.get(sessionId)?.driving;
    await eventually('it is running', () => driving() === 1);
    viewer.socket.terminate();
    await eventually('no call drives', () => driving() === 0);
  });

  it('GET /v1/session/{session_id}/live-view/socket resizes the page to the nearest allowed size', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId, { scope: 'control' });
    viewer.send({ type: 'resize', width: 100, height: 800.4 });
    const steps = () => (served.app.sessions.live.get(sessionId)?.events.after(0) ?? []).filter(({ type }) => type === 'actions.step');
    await eventually('it has finished', () => steps().length === 1);
    const [step] = steps();
    assert.deepEqual([step?.data['step'], step?.data['status']], ['set_viewport', 'ok']);
    assert.deepEqual(viewer.of('failed'), []);
    viewer.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4010 bad_message at the first invalid message', async () => {
    const sessionId = await create();
    for (const data of [
      'x',
      '{"type":"evaluate"}',
      '{"type":"copy","more":1}',
      Buffer.from('{"type":"copy"}'),
      `{"type":"text","text":"${'x'.repeat(600_000)}"}`,
    ]) {
      const viewer = await watch(sessionId, { scope: 'control' });
      viewer.socket.send(data);
      assert.deepEqual(await viewer.closed, { code: 4010, reason: 'bad_message' });
    }
    assert.equal((await served.call(getSession, { params: { session_id: sessionId } })).body.status, 'ready');
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4000 session_ended and the reason', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId);
    await served.call(endSession, { params: { session_id: sessionId } });
    assert.deepEqual(await viewer.closed, { code: 4000, reason: 'session_ended' });
    assert.deepEqual(viewer.messages.at(-1), { type: 'ended', reason: 'requested' });
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4008 browser_crashed when the browser crashes', async () => {
    const sessionId = await create();
    const viewer = await watch(sessionId);
    machineOf(served, sessionId).crash();
    assert.deepEqual(await viewer.closed, { code: 4008, reason: 'browser_crashed' });
    assert.deepEqual(viewer.messages.at(-1), { type: 'ended', reason: 'browser_crashed' });
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4003 unauthorized soon after its links are revoked', async () => {
    const sessionId = await create();
    const byToken = await watch(sessionId);
    const byCookie = await ViewSocket.open(addressOf(sessionId), { cookie: await cookieFor(sessionId), origin: served.url });
    const startMs = performance.now();
    await served.call(revokeViewTokens, { params: { session_id: sessionId } });
    assert.deepEqual(await byToken.closed, { code: 4003, reason: 'unauthorized' });
    assert.deepEqual(await byCookie.closed, { code: 4003, reason: 'unauthorized' });
    assertSoon(startMs, 5000);
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 4003 unauthorized soon after its key is revoked, and no other socket is', async () => {
    const sessionId = await create();
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const [mine, other] = [await watch(sessionId, { key: raw }), await watch(sessionId)];
    const startMs = performance.now();
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    assert.deepEqual(await mine.closed, { code: 4003, reason: 'unauthorized' });
    assertSoon(startMs, 5000);
    assert.equal(other.socket.readyState, other.socket.OPEN);
    other.socket.terminate();
  });

  it('GET /v1/session/{session_id}/live-view/socket is closed with 1012 service_restart when the service stops', async () => {
    const stopping = await startApp();
    const viewer = await watch(await create(stopping), { from: stopping });
    await stopping.close();
    assert.deepEqual(await viewer.closed, { code: 1012, reason: 'service_restart' });
  });

  it('GET /v1/session/{session_id}/live-view/socket resets the idle timer by input, not by watching', async () => {
    const clock = new ManualClock();
    const still = await startApp({ clock });
    const pass = async (seconds: number): Promise<void> => {
      clock.advance(seconds * 1000);
      still.app.sessions.timers.nudge();
      await still.app.sessions.timers.idle();
    };
    const { session_id: sessionId } = await still.create({ idle_timeout_seconds: 30 });
    const viewer = await watch(sessionId, { scope: 'control', from: still });
    const { browser } = machineOf(still, sessionId);
    await pass(20);
    viewer.send(click('down'));
    const session = still.app.sessions.live.get(sessionId) ?? assert.fail();
    // The idle time begins with the end of the call, which comes after its effect.
    await eventually('it has finished', () => browser.inputs.length > 0 && session.driving === 0);
    await pass(20);
    viewer.send({ type: 'fit', width: 400, height: 400 });
    viewer.send({ type: 'ack', seq: viewer.frames().at(-1)?.seq ?? 0 });
    await eventually('fewer frames are drawn', () => browser.screencasts[0]?.['maxWidth'] === 400);
    assert.equal(still.app.sessions.live.get(sessionId)?.status, 'ready');
    await pass(10);
    assert.deepEqual(await viewer.closed, { code: 4000, reason: 'session_ended' });
    assert.deepEqual(viewer.messages.at(-1), { type: 'ended', reason: 'idle_timeout' });
    await still.close();
  });
});

describe('400 bad_request', () => {
  it('GET /v1/session/{session_id}/live-view/socket answers 400 bad_request for a request without an upgrade', async () => {
    const sessionId = await create();
    const reply = await open(`${served.url}${pathOf(sessionId)}?token=${await tokenFor(served, sessionId)}`);
    assertError(reply, 400, 'bad_request');
    assert.match(reply.text, /Upgrade: websocket/);
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/live-view/socket answers 401 missing_view_token before the handshake, also with an API key', async () => {
    const sessionId = await create();
    assertError(await refusedSocket(addressOf(sessionId)), 401, 'missing_view_token');
    assertError(await refusedSocket(addressOf(sessionId), { authorization: `Bearer ${served.key}` }), 401, 'missing_view_token');
    await served.refuse(watchLiveView, 'missing_view_token', { params: { session_id: sessionId } });
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/live-view/socket answers 403 invalid_view_token before the handshake for every invalid link', async () => {
    const [mine, other] = [await create(), await create()];
    const window = (await served.create({ kind: 'full_browser' })).session_id;
    const ended = await create();
    const endedToken = await tokenFor(served, ended);
    await served.call(endSession, { params: { session_id: ended } });
    for (const address of [
      withToken(other, await tokenFor(served, mine)),
      withToken('ses_none', await tokenFor(served, mine)),
      withToken(window, await tokenFor(served, window, 'vnc')),
      withToken(ended, endedToken),
      withToken(mine, 'x'),
    ])
      assertError(await refusedSocket(address), 403, 'invalid_view_token');
    const cookie = await cookieFor(mine);
    assertError(await refusedSocket(addressOf(other), { cookie, origin: served.url }), 403, 'invalid_view_token');
  });
});

describe('403 origin_not_allowed', () => {
  it('GET /v1/session/{session_id}/live-view/socket refuses other origins with 403 origin_not_allowed, also with a valid cookie or token', async () => {
    const sessionId = await create();
    const cookie = await cookieFor(sessionId);
    const token = await tokenFor(served, sessionId);
    for (const origin of ['https://evil.example', 'null', `${served.url}.evil.example`]) {
      assertError(await refusedSocket(addressOf(sessionId), { cookie, origin }), 403, 'origin_not_allowed');
      assertError(await refusedSocket(withToken(sessionId, token), { origin }), 403, 'origin_not_allowed');
    }
  });

  it('GET /v1/session/{session_id}/live-view/socket refuses a cookie without an Origin header with 403 origin_not_allowed', async () => {
    const sessionId = await create();
    assertError(await refusedSocket(addressOf(sessionId), { cookie: await cookieFor(sessionId) }), 403, 'origin_not_allowed');
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/live-view/socket answers 409 session_not_ready before the handshake while the browser starts', async () => {
    const { sessionId, release } = await startingSession(served);
    const reply = await refusedSocket(withToken(sessionId, await tokenFor(served, sessionId)));
    assertError(reply, 409, 'session_not_ready');
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/live-view/socket refuses two tokens with 422', async () => {
    const sessionId = await create();
    const reply = await refusedSocket(`${addressOf(sessionId)}?token=a&token=b`, {
      cookie: await cookieFor(sessionId),
      origin: served.url,
    });
    assert.equal(reply.status, 422);
    assert.match(reply.text, /"type":"string_type"/);
  });
});
