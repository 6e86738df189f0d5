import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
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
  type ViewScope,
} from '@berth/contract';
import type { Client } from '../harness.ts';
import { Service, eventually } from './service.ts';
import { startSite, type Site } from './site.ts';
import { ViewerBrowser, isBlank, waitForColour, waitForMovement, slowMs, type Viewer } from './viewing.ts';
import { TcpProxy } from './viewing-proxy.ts';
import { Reports, blue, hostileTitle, centers, red, rightToLeft, viewingPages } from './viewing-pages.ts';

/** The browser's own console errors when the test cuts the connection. */
const connectionLost = /WebSocket connection|net::ERR_/;
/** Chromium's console error for an expected error status. */
const expectedErrors = /status of 40\d/;

describe('the live view', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  let proxy: TcpProxy;
  /** Watched from the start, without input. */
  let idle: { session: SessionResponse; watcher: Viewer; sinceMs: number };
  let shortLink: string;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, viewers] = await Promise.all([
      Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '1' } }),
      ViewerBrowser.launch(),
    ]);
    client = service.client;
    const session = await start('/moving', { idle_timeout_seconds: 10 });
    const watcher = await watch(await linkTo(session));
    idle = { session, watcher, sinceMs: Date.now() };
    shortLink = await linkTo(await start('/red'), { ttl_seconds: 30 });
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
  const read = async (session: SessionResponse) => (await client.call(getSession, { params: paramsOf(session) })).body;
  const end = (session: SessionResponse) => client.call(endSession, { params: paramsOf(session) });
  const linkTo = async (session: SessionResponse, body: { scope?: ViewScope; ttl_seconds?: number } = {}): Promise<string> =>
    (await client.call(createViewToken, { params: paramsOf(session), body })).body.url ?? '';
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

  it('opens by its link, removes the token from the address and continues with a cookie', async () => {
    const session = await start('/red');
    const link = await linkTo(session);
    const token = new URL(link).searchParams.get('token') ?? '';
    assert.ok(token);
    const viewer = await watch(link);
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
    await stranger.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
    await Promise.all([viewer.close(), stranger.close(), end(session)]);
  });

  it('shows a connecting state until the first frame', async () => {
    const session = await start('/red');
    const viewer = await viewers.newViewer({ origin: service.url });
    await viewer.page.routeWebSocket(/live-view\/socket/, () => undefined);
    await viewer.open(await linkTo(session));
    await viewer.page.getByText('Connecting to the session').waitFor();
    await status(viewer, 'Connecting');
    await viewer.inspect('live-view-connecting');
    viewer.assertNoIssues();
    await Promise.all([viewer.close(), end(session)]);
  });

  it('shows the moving page to two viewers and a phone', async () => {
    const session = await start('/moving');
    const link = await linkTo(session);
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
    const people = await Promise.all([watch(link), watch(link), watch(link, phone)]);
    await Promise.all(people.map((viewer) => waitForMovement(pictureOf(viewer))));
    assert.equal((await read(session)).connections.viewers, 3);
    await people[0]?.page.getByText('3 viewers').waitFor({ state: 'attached' });
    await people[0]?.inspect('live-view');
    await people[2]?.inspect('live-view-phone');
    for (const viewer of people) viewer.assertNoIssues();
    await people[1]?.close();
    await eventually('one has disconnected', async () => (await read(session)).connections.viewers === 2);
    await people[0]?.page.getByText('2 viewers').waitFor({ state: 'attached' });
    await Promise.all([people[0]?.close(), people[2]?.close(), end(session)]);
  });

  it('shows titles and addresses as plain text', async () => {
    const session = await start('/titled?kind=markup');
    const params = paramsOf(session);
    const viewer = await watch(await linkTo(session));
    const { page } = viewer;
    const tabs = page.getByRole('navigation', { name: 'Tabs of the session' });
    await tabs.getByText(hostileTitle).waitFor();
    await page.getByText(`${site.url}/titled?kind=markup`).first().waitFor();
    assert.match(await page.title(), /^<img src=x onerror=/);
    assert.equal(await page.locator('img').count(), 0);
    await client.call(navigate, { params, body: { url: `${site.url}/titled?kind=long` } });
    await tabs.getByText('long long').waitFor();
    assert.ok((await tabs.innerText()).length < 400, 'a title of a megabyte is shown whole');
    await client.call(navigate, { params, body: { url: `${site.url}/titled?kind=rtl` } });
    await tabs.locator('bdi', { hasText: rightToLeft }).waitFor();
    await page.locator('bdi[dir=ltr]', { hasText: '/titled?kind=rtl' }).waitFor();
    await viewer.inspect('live-view-titles', { schemes: ['light'] });
    viewer.assertNoIssues();
    await Promise.all([viewer.close(), end(session)]);
  });

  it('follows the session’s active tab', async () => {
    const session = await start('/red');
    const params = paramsOf(session);
    const viewer = await watch(await linkTo(session));
    await waitForColour(pictureOf(viewer), red);
    const opened = (await client.call(openTab, { params, body: { url: `${site.url}/blue` } })).body;
    await waitForColour(pictureOf(viewer), blue);
    await viewer.page.locator('[aria-current=true]', { hasText: 'Blue' }).waitFor();
    assert.equal((await client.call(listTabs, { params })).body.length, 2);
    await client.call(closeTab, { params: { ...params, tab_id: opened.tab_id } });
    await waitForColour(pictureOf(viewer), red);
    await eventually('one tab is left', async () => (await viewer.page.getByRole('listitem').count()) === 1);
    viewer.assertNoIssues();
    await Promise.all([viewer.close(), end(session)]);
  });

  it('keeps the last frame with its age when the connection is lost, and reconnects', async () => {
    proxy = await TcpProxy.start(service.url);
    const session = await start('/moving');
    const viewer = await watch(proxy.rewrite(await linkTo(session)));
    await waitForMovement(pictureOf(viewer));
    proxy.cut();
    await status(viewer, 'Reconnecting');
    await viewer.page.getByText(/^Not live\. Last frame at/).waitFor();
    await eventually('the disconnected viewer is not counted', async () => (await read(session)).connections.viewers === 0);
    assert.equal(await isBlank(pictureOf(viewer)), false);
    await viewer.inspect('live-view-reconnecting');
    proxy.restore();
    await status(viewer, 'Live');
    await waitForMovement(pictureOf(viewer));
    viewer.assertNoIssues({ except: connectionLost });
    await viewer.close();
    await end(session);
  });

  it('ignores input with a view link', async () => {
    const session = await start('/pad');
    await reports.waitFor('shown', { from: '/pad' });
    const viewer = await watch(await linkTo(session));
    await status(viewer, 'Live');
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
    await Promise.all([viewer.close(), end(session)]);
  });

  it('shows why the session ended', async () => {
    const [ended, killed] = [await start('/red'), await start('/blue')];
    const people = await Promise.all([ended, killed].map(async (session) => watch(await linkTo(session))));
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
    for (const viewer of people) {
      viewer.assertNoIssues();
      await viewer.page.reload();
      await viewer.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
      await viewer.close();
    }
  });

  it('shows a readable page for a wrong, foreign, revoked or expired link', async () => {
    const session = await start('/red');
    const other = (await client.call(createKey, { body: { owner: 'acme' } })).body.key ?? '';
    await client.refuse(createViewToken, 'session_not_found', { params: paramsOf(session), key: other, body: {} });
    const link = await linkTo(session);
    const foreign = link.replace(session.session_id, idle.session.session_id);
    const wrong = link.replace(/token=.*/, 'token=wrong');
    const watcher = await watch(link);
    await waitForColour(pictureOf(watcher), red);
    assert.equal((await client.call(revokeViewTokens, { params: paramsOf(session) })).status, 204);
    await watcher.page.getByRole('heading', { name: 'Your link was revoked' }).waitFor();
    await status(watcher, 'Revoked');
    await watcher.inspect('live-view-taken-back');
    const texts = new Set<string>();
    for (const invalid of [link, foreign, wrong]) {
      const viewer = await viewers.newViewer({ origin: service.url });
      const response = await viewer.page.goto(invalid);
      assert.equal(response?.status(), 403);
      assert.equal(response?.headers()['referrer-policy'], 'no-referrer');
      await viewer.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
      texts.add(await viewer.page.locator('body').innerText());
      if (invalid === link) await viewer.inspect('link-error');
      viewer.assertNoIssues({ except: expectedErrors });
      await viewer.close();
    }
    assert.equal(texts.size, 1, [...texts].join('\n---\n'));
    watcher.assertNoIssues();
    await Promise.all([watcher.close(), end(session)]);
  });

  it('stops the screencast when the last viewer leaves', async () => {
    const session = await start('/moving');
    const viewer = await watch(await linkTo(session));
    await waitForMovement(pictureOf(viewer));
    const watchedRate = await readRate(service.pid);
    await viewer.close();
    await eventually('no viewer is counted', async () => (await read(session)).connections.viewers === 0);
    // The worker receives frames through a pipe, so its read rate shows that they stop.
    await eventually('no more frames arrive', async () => (await readRate(service.pid)) < watchedRate / 5, 5000);
    await end(session);
  });

  it('does not reset the idle timer, and shows that the session ended by it', async () => {
    await idle.watcher.page.getByText('It ended after being idle for too long.').waitFor();
    const { ended_reason, ended_at } = await eventually('it has ended', async () => {
      const seen = await read(idle.session);
      return seen.status === 'ended' && seen;
    });
    assert.equal(ended_reason, 'idle_timeout');
    const lastedMs = Date.parse(ended_at ?? '') - idle.sinceMs;
    assert.ok(lastedMs < 20_000, `it lasted ${lastedMs} ms`);
    idle.watcher.assertNoIssues();
    await idle.watcher.close();
  });

  it('refuses an expired link', async () => {
    const opened = await eventually(
      'the link has expired',
      async () => {
        const response = await fetch(shortLink, { headers: { accept: 'text/html' } });
        const text = await response.text();
        return response.status === 403 && text;
      },
      40_000,
    );
    assert.match(opened, /This link cannot be opened/);
    const viewer = await watch(shortLink);
    await viewer.page.getByRole('heading', { name: 'This link cannot be opened' }).waitFor();
    assert.equal((await viewer.context.cookies()).length, 0);
    await viewer.close();
  });

  it('shows that the service is stopping', async () => {
    const session = await start('/red');
    const viewer = await watch(await linkTo(session));
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

/** The bytes that a process reads per second from any source. */
async function readRate(pid: number): Promise<number> {
  const read = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  const [from, sinceMs] = [read(), performance.now()];
  await eventually('a second has passed', () => performance.now() - sinceMs >= 1000, slowMs);
  return ((read() - from) * 1000) / (performance.now() - sinceMs);
}
