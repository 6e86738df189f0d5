import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  createSession,
  createViewToken,
  createVncToken,
  endSession,
  getSession,
  listTabs,
  navigate,
  runActions,
  screenshot,
  updateSession,
  type SessionResponse,
} from '@berth/contract';
import { WebSocket } from 'ws';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { RawDevtools } from '../raw-devtools.ts';
import { connectPlaywright } from '../playwright.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { ViewerBrowser, coloursAt, isBlank, waitForColour, waitForMovement, slowMs, type Viewer } from './viewing.ts';
import { assertAt } from './viewing-input.ts';
import { Reports, blue, green, centers, viewingPages, type Report } from './viewing-pages.ts';

/** Distance from the page to the middle of the address bar above it, in CSS px. */
const addressBarPx = 24;

describe('the window of a headful browser', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  let session: SessionResponse;
  let viewer: Viewer;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, viewers] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), ViewerBrowser.launch()]);
    client = service.client;
    const reply = await client.call(createSession, { body: { kind: 'full_browser', start_url: `${site.url}/sizes` } });
    assert.equal(reply.status, 201, reply.text);
    session = reply.body;
  });
  after(async () => {
    await viewers?.close();
    await service?.close();
    await site?.close();
  });

  const params = () => ({ session_id: session.session_id });
  const go = async (path: string) => (await client.call(navigate, { params: params(), body: { url: site.url + path } })).body;
  const linkTo = async (): Promise<string> => (await client.call(createVncToken, { params: params(), body: {} })).body.url ?? '';
  const watch = async (options: object = {}): Promise<Viewer> => {
    const watcher = await viewers.newViewer({ origin: service.url, ...options });
    await watcher.open(await linkTo());
    await eventually('the window is rendered', async () => !(await isBlank(picture(watcher))), slowMs);
    return watcher;
  };
  const picture = ({ page }: Viewer) => page.locator('canvas').first();
  /** The size of the remote display. */
  const displayOf = (who: Viewer): Promise<{ width: number; height: number }> =>
    picture(who).evaluate((canvas) => ({ width: (canvas as HTMLCanvasElement).width, height: (canvas as HTMLCanvasElement).height }));
  /** Maps a point of the session's page to the viewer's window, below the remote toolbars. */
  const at = async ({ x, y }: { x: number; y: number }, sizes: Report, who = viewer): Promise<[x: number, y: number]> => {
    const [box, display] = [await picture(who).boundingBox(), await displayOf(who)];
    assert.ok(box);
    const [left, top] = [Number(sizes['left']) + x, Number(sizes['top']) + Number(sizes['barHeight']) + y];
    return [box.x + (left * box.width) / display.width, box.y + (top * box.height) / display.height];
  };
  let sizes: Report;

  /** Waits until the address bar has the keyboard focus, which its colour shows. */
  const focusAddressBar = async (): Promise<void> => {
    const { width, height } = await displayOf(viewer);
    const spot = { x: 900, y: -addressBarPx };
    const colour = async () =>
      JSON.stringify(await coloursAt(picture(viewer), [[spot.x / width, (Number(sizes['barHeight']) + spot.y) / height]]));
    const before = await colour();
    await viewer.page.mouse.click(...(await at(spot, sizes)));
    await eventually('the address bar has the focus', async () => (await colour()) !== before);
  };

  it('the window of a headful browser closes a client that speaks no VNC with a code for that, and goes on', async () => {
    const token = new URL(await linkTo()).searchParams.get('token') ?? '';
    const address = `${service.url.replace('http', 'ws')}/v1/session/${session.session_id}/vnc/websockify?token=${token}`;
    const socket = new WebSocket(address);
    await once(socket, 'open');
    socket.send(Buffer.from('GET / HTTP/1.1\r\nHost: display\r\n\r\n'));
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
    assert.equal(`${code} ${reason.toString()}`, '4010 bad_message');
    assert.equal((await client.call(getSession, { params: params() })).body.status, 'ready');
  });

  it('the window of a headful browser is reported by its session, which accepts drive calls', async () => {
    assert.equal(session.kind, 'full_browser');
    assert.deepEqual(session.viewport, { width: 1280, height: 720, device_scale_factor: 1 });
    const page = await go('/pad');
    assert.equal(page.title, 'Pad');
    const acted = (
      await client.call(runActions, {
        params: params(),
        body: {
          actions: [
            { type: 'fill', selectors: ['#field'], value: 'by program' },
            { type: 'click', selectors: ['#button'] },
          ],
        },
      })
    ).body;
    assert.deepEqual(
      acted.results.map(({ status }) => status),
      ['ok', 'ok'],
    );
    await reports.waitFor('typed', { value: 'by program' });
    await reports.waitFor('click', { on: 'button' });
    const { cdp_url: address } = (await client.call(connectSession, { params: params() })).body;
    const browser = await connectPlaywright(address);
    const [connected] = browser.contexts()[0]?.pages() ?? [];
    assert.equal(await connected?.title(), 'Pad');
    await connected?.goto(`${site.url}/second`);
    await browser.close();
    await eventually(
      'the session has seen it',
      async () => (await client.call(getSession, { params: params() })).body.current_url === `${site.url}/second`,
    );
    assert.ok((await client.call(screenshot, { params: params(), body: {} })).text.length > 1000);
  });

  it('the window of a headful browser has a page of the requested size in a matching window and screen', async () => {
    reports.clear();
    await go('/sizes');
    sizes = await reports.waitFor('sizes');
    assert.equal(sizes['inner'], '1280x720');
    assert.equal(sizes['scale'], 1);
    const [outer, screen] = [sizes['outer'], sizes['screen']].map((text) => String(text).split('x').map(Number));
    assert.ok(outer && screen);
    assert.ok((outer[0] ?? 0) >= 1280 && (outer[1] ?? 0) > 720, 'the window has no bars');
    assert.ok(
      (outer[0] ?? 0) <= (screen[0] ?? 0) && (outer[1] ?? 0) <= (screen[1] ?? 0),
      `a window of ${outer.join('x')} on a screen of ${screen.join('x')}`,
    );
    viewer = await watch();
    const display = await displayOf(viewer);
    assert.deepEqual([display.width, display.height], screen);
  });

  it('the window of a headful browser shows the full window by its link and removes the token from the address', async () => {
    const { page, context } = viewer;
    assert.equal(page.url(), `${service.url}/v1/session/${session.session_id}/vnc/vnc.html`);
    const [cookie] = await context.cookies(page.url());
    assert.deepEqual([cookie?.path, cookie?.httpOnly, cookie?.sameSite], [`/v1/session/${session.session_id}/vnc`, true, 'Lax']);
    await waitForColour(picture(viewer), green, { at: [0.5, 0.6] });
    await go('/moving');
    await waitForMovement(picture(viewer));
    await viewer.inspect('vnc');
    viewer.assertNoIssues();
  });

  it('the window of a headful browser forwards clicks and typing to the page and the browser’s toolbars', async () => {
    await go('/pad');
    await reports.waitFor('shown', { from: '/pad' });
    reports.clear();
    await viewer.page.mouse.click(...(await at(centers.button, sizes)));
    assertAt(await reports.waitFor('click', { on: 'button' }), centers.button);
    await viewer.page.mouse.click(...(await at(centers.field, sizes)));
    await reports.waitFor('click', { on: 'field' });
    await viewer.page.keyboard.type('Hello, World! 1+1');
    await reports.waitFor('typed', { value: 'Hello, World! 1+1' });
    await viewer.page.keyboard.press('Control+a');
    await viewer.page.keyboard.type('new');
    await reports.waitFor('typed', { value: 'new' });
    await viewer.page.mouse.move(...(await at(centers.scroller, sizes)));
    await viewer.page.mouse.wheel(0, 300);
    await reports.waitFor('scrolled');
    // Typing into the browser's own address bar requires the full window.
    await focusAddressBar();
    await viewer.page.keyboard.type(`${site.url}/blue\n`);
    await eventually(
      'it has arrived',
      async () => (await client.call(getSession, { params: params() })).body.current_url === `${site.url}/blue`,
      slowMs,
    );
    await waitForColour(picture(viewer), blue, { at: [0.5, 0.6] });
    await viewer.page.keyboard.press('Control+t');
    await eventually('a tab was opened by hand', async () => (await client.call(listTabs, { params: params() })).body.length === 2, slowMs);
    await viewer.page.keyboard.press('Control+w');
    await eventually('it is closed', async () => (await client.call(listTabs, { params: params() })).body.length === 1, slowMs);
    viewer.assertNoIssues();
  });

  it('the window of a headful browser renders East Asian letters and colour images', nightly, async () => {
    reports.clear();
    await go('/letters');
    const { cjk, distinct, emoji } = await reports.waitFor('letters');
    assert.deepEqual({ cjk, distinct, emoji }, { cjk: true, distinct: true, emoji: true });
    await viewer.inspect('vnc-letters', { schemes: ['light'] });
  });

  it('the window of a headful browser gives the keys of DevTools clients to the page and not to the window', nightly, async () => {
    const tabs = async (): Promise<number> => (await client.call(listTabs, { params: params() })).body.length;
    const before = await tabs();
    const raw = await RawDevtools.open(client, session.session_id);
    const pageSession = await raw.attach();
    const evaluate = (expression: string) => raw.send('Runtime.evaluate', { expression, returnByValue: true }, pageSession);
    await evaluate('globalThis.pressed = []; addEventListener("keydown", ({ key }) => pressed.push(key))');
    const keys = [
      { key: 't', code: 'KeyT', modifiers: 2, windowsVirtualKeyCode: 84, nativeVirtualKeyCode: 28 },
      { key: 'n', code: 'KeyN', modifiers: 2, windowsVirtualKeyCode: 78, nativeVirtualKeyCode: 57 },
      { key: 'F12', code: 'F12', modifiers: 0, windowsVirtualKeyCode: 123, nativeVirtualKeyCode: 96 },
    ];
    for (const key of keys)
      for (const type of ['rawKeyDown', 'keyUp']) await raw.send('Input.dispatchKeyEvent', { type, ...key }, pageSession);
    const pressed = (await evaluate('pressed')).result?.['result'];
    assert.deepEqual(pressed, { type: 'object', value: ['t', 'n', 'F12'] });
    assert.equal(await tabs(), before);
    raw.close();
  });

  it('the window of a headful browser gives the keys of press steps to the page and not to the window', async () => {
    await go('/blue');
    const raw = await RawDevtools.open(client, session.session_id);
    const pageSession = await raw.attach();
    const evaluate = (expression: string) => raw.send('Runtime.evaluate', { expression, returnByValue: true }, pageSession);
    await evaluate('globalThis.pressed = []; addEventListener("keydown", ({ key }) => pressed.push(key))');
    const chords = ['Control+W', 'Control+T', 'Control+N', 'Control+Shift+W', 'Control+F4', 'Alt+F4', 'Control+R', 'F5', 'F11', 'F12'];
    chords.push('Control+L', 'Control+P', 'Control+S', 'Control+F', 'Control+J', 'Control+U', 'Alt+ArrowLeft', 'Control+Tab');
    const { body } = await client.call(runActions, { params: params(), body: { actions: [{ type: 'press', keys: chords }] } });
    assert.equal(body.results[0]?.status, 'ok');
    const last = chords.map((chord) => chord.split('+').at(-1)?.toLowerCase());
    const { value } = ((await evaluate('pressed')).result?.['result'] ?? { value: [] }) as { value: string[] };
    assert.deepEqual(
      value.filter((key) => !['Control', 'Shift', 'Alt'].includes(key)).map((key) => key.toLowerCase()),
      last.map((key) => key ?? ''),
    );
    const tabs = (await client.call(listTabs, { params: params() })).body;
    assert.deepEqual([tabs.length, tabs[0]?.url], [1, `${site.url}/blue`]);
    raw.close();
  });

  it('the window of a headful browser is shown to two viewers and a phone, which are counted', nightly, async () => {
    await go('/moving');
    const phone = await watch({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await Promise.all([waitForMovement(picture(viewer)), waitForMovement(picture(phone))]);
    assert.equal((await client.call(getSession, { params: params() })).body.connections.viewers, 2);
    await phone.inspect('vnc-phone');
    phone.assertNoIssues();
    await phone.close();
    await eventually(
      'one has disconnected',
      async () => (await client.call(getSession, { params: params() })).body.connections.viewers === 1,
    );
  });

  it('the window of a headful browser exists only for headful sessions and requires a VNC link', async () => {
    const headless = (await client.call(createSession, { body: {} })).body;
    await client.refuse(createVncToken, 'vnc_unavailable', { params: { session_id: headless.session_id }, body: {} });
    const vnc = (await client.call(createVncToken, { params: params(), body: {} })).body.token;
    const view = (await client.call(createViewToken, { params: params(), body: { scope: 'control' } })).body.token;
    const base = `${service.url}/v1/session/${session.session_id}`;
    for (const address of [
      `${base}/vnc/vnc.html?token=${view}`,
      `${base}/live-view?token=${vnc}`,
      `${service.url}/v1/session/${headless.session_id}/vnc/vnc.html?token=${vnc}`,
    ])
      assert.equal((await fetch(address)).status, 403, address);
    await client.call(endSession, { params: { session_id: headless.session_id } });
  });

  it('the window of a headful browser is also visible in the live view', async () => {
    await go('/blue');
    const watcher = await viewers.newViewer({ origin: service.url });
    await watcher.open((await client.call(createViewToken, { params: params(), body: {} })).body.url ?? '');
    await waitForColour(watcher.page.locator('canvas'), blue);
    await watcher.close();
  });

  it('the window of a headful browser resets the idle timer by input, not by viewing', nightly, async () => {
    const before = Date.parse((await client.call(getSession, { params: params() })).body.last_activity_at);
    const movedMs = Date.now();
    await viewer.page.mouse.move(...(await at(centers.nothing, sizes)));
    await viewer.page.mouse.move(...(await at(centers.button, sizes)));
    const touched = await eventually('a hand was seen', async () => {
      const { last_activity_at } = (await client.call(getSession, { params: params() })).body;
      return Date.parse(last_activity_at) > before && Date.parse(last_activity_at);
    });
    assert.ok(touched >= movedMs - 1000);
    await client.call(updateSession, { params: params(), body: { idle_timeout_seconds: 10 } });
    const ended = await eventually(
      'it ends although it is watched',
      async () => {
        const { body } = await client.call(getSession, { params: params() });
        return body.status === 'ended' && body;
      },
      60_000,
    );
    assert.equal(ended.ended_reason, 'idle_timeout');
    await viewer.page.getByRole('heading', { name: 'The session has ended' }).waitFor();
    await viewer.page.getByText('It ended after being idle for too long.').waitFor();
    await viewer.inspect('vnc-ended');
    viewer.assertNoIssues();
    await viewer.close();
  });
});
