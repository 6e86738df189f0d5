import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  closeTab,
  createKey,
  createSession,
  createViewToken,
  endSession,
  getSession,
  listAllSessions,
  listTabs,
  navigate,
  openTab,
  revokeViewTokens,
  runActions,
  type SessionResponse,
} from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { ViewerBrowser, isBlank, slowMs, waitForColour, waitForMovement, type Viewer } from './viewing.ts';
import { TcpProxy } from './viewing-proxy.ts';
import { Reports, blue, hostileTitle, centers, red, rightToLeft, viewingPages } from './viewing-pages.ts';
import { assertShort } from '../../yardstick.ts';

/** The browser's own console errors when the test cuts the connection. */
const connectionLost = /WebSocket connection|net::ERR_/;
/** Less than a frame of `/moving`. */
const frameBytes = 15_000;
/** Chromium's console error for an expected error status. */
const expectedErrors = /status of 40\d/;

describe('the live view', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  let proxy: TcpProxy;
  /** The session of most tests, which lead it to their page, and one who watches it until the link is revoked. */
  let session: SessionResponse;
  let viewer: Viewer;
  /** Watched from the start, without input. */
  let idle: { session: SessionResponse; watcher: Viewer; activeMs: number };
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, viewers] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), ViewerBrowser.launch()]);
    client = service.client;
    // Longer than a busy machine takes to open the view.
    const left = await start('/moving?every=500', { idle_timeout_seconds: 30 });
    const link = await linkTo(left);
    const activeMs = Date.parse((await read(left)).last_activity_at);
    idle = { session: left, watcher: await watch(link), activeMs };
    session = await start('/red');
  });
  after(async () => {
    proxy?.close();
    await viewers?.close();
    await service?.close();
    await site?.close();
  });

  const start = async (path: string, body: object = {}): Promise<SessionResponse> => {
    const reply = await client.call(createSession, { body: { start_url: site.url + path, ...body } });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  const paramsOf = ({ session_id }: SessionResponse) => ({ session_id });
  const read = async (of = session) => (await client.call(getSession, { params: paramsOf(of) })).body;
  const end = (ended: SessionResponse) => client.call(endSession, { params: paramsOf(ended) });
  const show = async (path: string): Promise<void> => {
    const reply = await client.call(navigate, { params: paramsOf(session), body: { url: site.url + path } });
    assert.equal(reply.status, 200, reply.text);
  };
  const linkTo = async (watched = session): Promise<string> =>
    (await client.call(createViewToken, { params: paramsOf(watched), body: {} })).body.url ?? '';
  const watch = async (link: string, options: object = {}): Promise<Viewer> => {
    const viewer = await viewers.newViewer({ origin: new URL(link).origin, ...options });
    await viewer.open(link);
    return viewer;
  };
  const pictureOf = ({ page }: Viewer) => page.locator('canvas');
  const status = ({ page }: Viewer, text: string) =>
    page
      .getByRole('status')
      .filter({ hasText: new RegExp(`^${text}$`) })
      .waitFor();

  it('the live view opens by its link, removes the token from the address and continues with a cookie', async () => {
    const link = await linkTo();
    const token = new URL(link).searchParams.get('token') ?? '';
    assert.ok(token);
    viewer = await watch(link);
    await waitForColour(pictureOf(viewer), red);
    const { page, context } = viewer;
    const bare = `${service.url}/v1/session/${session.session_id}/live-view`;
    assert.equal(page.url(), bare);
    assert.equal(
      await page.evaluate(() => document.cookie + JSON.stringify(history.state) + document.documentElement.outerHTML.includes('token=')),
      'nullfalse',
    );
    const [cookie, ...others] = await context.cookies(bare);
    assert.deepEqual(others, []);
    assert.deepEqual(
      { name: cookie?.name, path: cookie?.path, httpOnly: cookie?.httpOnly, sameSite: cookie?.sameSite },
      { name: 'berth-view', path: new URL(bare).pathname, httpOnly: true, sameSite: 'Lax' },
    );
    assert.ok(cookie && cookie.value.length >= 32 && !token.includes(cookie.value), 'the cookie is not a value of its own');
    // A path with the same prefix belongs to another session.
    for (const other of [
      `${service.url}/v1/session/${session.session_id}x/live-view`,
      `${bare}er`,
      `${service.url}/v1/session/${session.session_id}`,
    ])
      assert.deepEqual(await context.cookies(other), []);
    await page.reload();
    await status(viewer, 'Live');
    await waitForColour(pictureOf(viewer), red);
    viewer.assertNoIssues();
    const stranger = await watch(bare);
    await stranger.page.waitForURL(`${service.url}/dashboard/sessions/${session.session_id}/live`);
    await stranger.page.getByText('If the session is not yours, ask its owner for a link.').waitFor();
    await stranger.close();
  });

  it('the live view shows a connecting state until the first frame', async () => {
    const early = await viewers.newViewer({ origin: service.url });
    await early.page.routeWebSocket(/live-view\/socket/, () => undefined);
    await early.open(await linkTo());
    await early.page.getByText('Connecting to the session').waitFor();
    await status(early, 'Connecting');
    await early.inspect('live-view-connecting');
    early.assertNoIssues();
    await early.close();
  });

  it('the live view shows the moving page to two viewers and a phone', async () => {
    await show('/moving');
    const link = await linkTo();
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
    const [second, third] = await Promise.all([watch(link), watch(link, phone)]);
    const people = [viewer, second, third];
    await Promise.all(people.map((each) => waitForMovement(pictureOf(each))));
    await eventually('three are counted', async () => (await read()).connections.viewers === 3);
    await viewer.page.getByText('3 viewers').waitFor({ state: 'attached' });
    await viewer.inspect('live-view');
    await third.inspect('live-view-phone');
    for (const each of people) each.assertNoIssues();
    await second.close();
    await eventually('one has disconnected', async () => (await read()).connections.viewers === 2);
    await viewer.page.getByText('2 viewers').waitFor({ state: 'attached' });
    await third.close();
  });

  it('the live view shows titles and addresses as plain text', async () => {
    await show('/titled?kind=markup');
    const { page } = viewer;
    const tabs = page.getByRole('navigation', { name: 'Tabs of the session' });
    await tabs.getByText(hostileTitle).waitFor();
    await page.getByText(`${site.url}/titled?kind=markup`).first().waitFor();
    assert.match(await page.title(), /^<img src=x onerror=/);
    assert.equal(await page.locator('img').count(), 0);
    await show('/titled?kind=long');
    await tabs.getByText('long long').waitFor();
    assert.ok((await tabs.innerText()).length < 400, 'a title of a megabyte is shown whole');
    await show('/titled?kind=rtl');
    await tabs.locator('bdi', { hasText: rightToLeft }).waitFor();
    await page.locator('bdi[dir=ltr]', { hasText: '/titled?kind=rtl' }).waitFor();
    await viewer.inspect('live-view-titles', { schemes: ['light'] });
    viewer.assertNoIssues();
  });

  it('the live view follows the session’s active tab', async () => {
    await show('/red');
    const params = paramsOf(session);
    await waitForColour(pictureOf(viewer), red);
    const opened = (await client.call(openTab, { params, body: { url: `${site.url}/blue` } })).body;
    await waitForColour(pictureOf(viewer), blue);
    await viewer.page.locator('[aria-current=true]', { hasText: 'Blue' }).waitFor();
    assert.equal((await client.call(listTabs, { params })).body.length, 2);
    await client.call(closeTab, { params: { ...params, tab_id: opened.tab_id } });
    await waitForColour(pictureOf(viewer), red);
    await eventually('one tab is left', async () => (await viewer.page.getByRole('listitem').count()) === 1);
    viewer.assertNoIssues();
  });

  it('the live view keeps the last frame with its age when the connection is lost, and reconnects', async () => {
    proxy = await TcpProxy.start(service.url);
    await show('/moving');
    const cut = await watch(proxy.rewrite(await linkTo()));
    await waitForMovement(pictureOf(cut));
    proxy.cut();
    await status(cut, 'Reconnecting');
    await cut.page.getByText(/^Not live\. Last frame at/).waitFor();
    await eventually('the disconnected viewer is not counted', async () => (await read()).connections.viewers === 1);
    assert.equal(await isBlank(pictureOf(cut)), false);
    await cut.inspect('live-view-reconnecting');
    proxy.restore();
    await status(cut, 'Live');
    await waitForMovement(pictureOf(cut));
    cut.assertNoIssues({ except: connectionLost });
    await cut.close();
  });

  it('the live view ignores input with a view link', async () => {
    await show('/pad');
    await reports.waitFor('shown', { from: '/pad' });
    await viewer.page.getByText(`${site.url}/pad`).first().waitFor();
    // The first picture may be older than the page's first paint.
    await eventually('the page is shown', async () => !(await isBlank(pictureOf(viewer))));
    await viewer.page.getByText('View only', { exact: true }).waitFor();
    assert.equal(await viewer.page.getByRole('textbox').count(), 0);
    const box = await pictureOf(viewer).boundingBox();
    assert.ok(box);
    reports.clear();
    await viewer.page.mouse.click(box.x + (centers.button.x * box.width) / 1280, box.y + (centers.button.y * box.height) / 720);
    await viewer.page.mouse.wheel(0, 300);
    await viewer.page.keyboard.type('text');
    // A later message has arrived, so an earlier one would have, too.
    await client.call(runActions, { params: paramsOf(session), body: { actions: [{ type: 'click', selectors: ['#field'] }] } });
    await reports.waitFor('click', { on: 'field' });
    assert.deepEqual(
      reports.all.filter(({ type, on }) => ['key', 'scrolled', 'typed'].includes(type) || on === 'button'),
      [],
    );
    viewer.assertNoIssues();
  });

  it('the live view shows why the session ended', async () => {
    const [ended, killed] = [await start('/red'), await start('/blue')];
    const people = await Promise.all([ended, killed].map(async (each) => watch(await linkTo(each))));
    const [first, second] = people;
    assert.ok(first && second);
    await Promise.all([waitForColour(pictureOf(first), red), waitForColour(pictureOf(second), blue)]);
    await end(ended);
    await first.page.getByRole('heading', { name: 'The session has ended' }).waitFor();
    await first.page.getByText('Its owner ended it.').waitFor();
    await status(first, 'Ended');
    await first.inspect('live-view-ended');
    const { pid } =
      (await client.call(listAllSessions, { query: { status: 'ready' } })).body.find(
        ({ session_id }) => session_id === killed.session_id,
      ) ?? {};
    assert.ok(pid);
    process.kill(pid, 'SIGKILL');
    await second.page.getByText('Its browser crashed.').waitFor();
    for (const each of people) {
      each.assertNoIssues();
      await each.page.reload();
      await each.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
      await each.close();
    }
  });

  it('the live view shows a readable page for a wrong, foreign or revoked link', async () => {
    await show('/red');
    const other = (await client.call(createKey, { body: { owner: 'acme' } })).body.key ?? '';
    await client.refuse(createViewToken, 'session_not_found', { params: paramsOf(session), key: other, body: {} });
    const link = await linkTo();
    const foreign = link.replace(session.session_id, idle.session.session_id);
    const wrong = link.replace(/token=.*/, 'token=wrong');
    await waitForColour(pictureOf(viewer), red);
    assert.equal((await client.call(revokeViewTokens, { params: paramsOf(session) })).status, 204);
    await viewer.page.getByRole('heading', { name: 'Your link was revoked' }).waitFor();
    await status(viewer, 'Revoked');
    await viewer.inspect('live-view-taken-back');
    const texts = new Set<string>();
    const stranger = await viewers.newViewer({ origin: service.url });
    for (const invalid of [link, foreign, wrong]) {
      const response = await stranger.page.goto(invalid);
      assert.equal(response?.status(), 403);
      assert.equal(response?.headers()['referrer-policy'], 'no-referrer');
      await stranger.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
      texts.add(await stranger.page.locator('body').innerText());
    }
    assert.equal(texts.size, 1, [...texts].join('\n---\n'));
    await stranger.inspect('link-error');
    stranger.assertNoIssues({ except: expectedErrors });
    viewer.assertNoIssues();
    await Promise.all([viewer.close(), stranger.close()]);
  });

  it('the live view does not reset the idle timer, and shows that the session ended by it', async () => {
    await idle.watcher.page.getByText('It ended after being idle for too long.').waitFor();
    const { ended_reason, last_activity_at } = await eventually('it has ended', async () => {
      const seen = await read(idle.session);
      return seen.status === 'ended' && seen;
    });
    assert.equal(ended_reason, 'idle_timeout');
    const watchedMs = Date.parse(last_activity_at) - idle.activeMs;
    assertShort(watchedMs, 1000, 'it was active while it was watched');
    idle.watcher.assertNoIssues();
    await idle.watcher.close();
  });

  // No other session is watched any more.
  it('the live view stops the screencast when the last viewer leaves', async () => {
    await show('/moving');
    const before = bytesRead(service.pid);
    viewer = await watch(await linkTo());
    await waitForMovement(pictureOf(viewer));
    // The worker receives frames through a pipe, so what it reads shows that they stop.
    await eventually('many frames have arrived', () => bytesRead(service.pid) - before > 20 * frameBytes, slowMs);
    await viewer.close();
    await eventually('no viewer is counted', async () => (await read()).connections.viewers === 0);
    await eventually('no more frames arrive', async () => {
      const from = bytesRead(service.pid);
      await sleep(1000);
      return bytesRead(service.pid) - from < frameBytes;
    });
  });

  it('the live view shows that the service is stopping', async () => {
    await show('/red');
    viewer = await watch(await linkTo());
    await waitForColour(pictureOf(viewer), red);
    const stopped = service.stop();
    await viewer.page
      .getByText(/The service is being maintained|Reconnecting/)
      .first()
      .waitFor();
    assert.equal(await stopped, 0);
    await viewer.close();
  });
});

/** The bytes that a process has read from any source. */
const bytesRead = (pid: number): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
