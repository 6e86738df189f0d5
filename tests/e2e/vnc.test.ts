import assert from 'node:assert/strict';
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
import { chromium } from 'playwright-core';
import type { Client } from '../harness.ts';
import { Service, eventually } from './service.ts';
import { startSite, type Site } from './site.ts';
import { Audience, coloursAt, isBlank, seesColour, seesMovement, slowMs, type Person } from './viewing.ts';
import { assertAt } from './viewing-hands.ts';
import { Reports, blue, green, places, viewingPages, type Report } from './viewing-pages.ts';

/** How far above the page the middle of the address bar is. */
const addressBarPx = 24;

describe('the window of a full browser', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let audience: Audience;
  let session: SessionResponse;
  let person: Person;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, audience] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), Audience.gather()]);
    client = service.client;
    const reply = await client.call(createSession, { body: { kind: 'full_browser', start_url: `${site.url}/sizes` } });
    assert.equal(reply.status, 201, reply.text);
    session = reply.body;
  });
  after(async () => {
    await audience?.leave();
    await service?.close();
    await site?.close();
  });

  const params = () => ({ session_id: session.session_id });
  const go = async (path: string) => (await client.call(navigate, { params: params(), body: { url: site.url + path } })).body;
  const linkTo = async (): Promise<string> => (await client.call(createVncToken, { params: params(), body: {} })).body.url ?? '';
  const watch = async (options: object = {}): Promise<Person> => {
    const watcher = await audience.person({ origin: service.url, ...options });
    await watcher.open(await linkTo());
    await eventually('the window is drawn', async () => !(await isBlank(picture(watcher))), slowMs);
    return watcher;
  };
  const picture = ({ page }: Person) => page.locator('canvas').first();
  /** How large the display is that the picture shows. */
  const displayOf = (who: Person): Promise<{ width: number; height: number }> =>
    picture(who).evaluate((canvas) => ({ width: (canvas as HTMLCanvasElement).width, height: (canvas as HTMLCanvasElement).height }));
  /** Where a place of the session's page is in the person's window: the page lies below the bars of its own. */
  const at = async ({ x, y }: { x: number; y: number }, sizes: Report, who = person): Promise<[x: number, y: number]> => {
    const [box, display] = [await picture(who).boundingBox(), await displayOf(who)];
    assert.ok(box);
    const [left, top] = [Number(sizes['left']) + x, Number(sizes['top']) + Number(sizes['barHeight']) + y];
    return [box.x + (left * box.width) / display.width, box.y + (top * box.height) / display.height];
  };
  let sizes: Report;

  /** Until it has the keyboard, which it shows by its colour: what is typed sooner goes to the page. */
  const focusAddressBar = async (): Promise<void> => {
    const { width, height } = await displayOf(person);
    const spot = { x: 900, y: -addressBarPx };
    const colour = async () =>
      JSON.stringify(await coloursAt(picture(person), [[spot.x / width, (Number(sizes['barHeight']) + spot.y) / height]]));
    const before = await colour();
    await person.page.mouse.click(...(await at(spot, sizes)));
    await eventually('the address bar has the keyboard', async () => (await colour()) !== before);
  };

  it('is told by its session, which is driven like any other', async () => {
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
    await reports.heard('typed', { value: 'by program' });
    await reports.heard('click', { on: 'button' });
    const { cdp_url: address } = (await client.call(connectSession, { params: params() })).body;
    const browser = await chromium.connectOverCDP(address);
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

  it('has a page of the size that was asked for, in a window and on a screen that hold it', async () => {
    reports.forget();
    await go('/sizes');
    sizes = await reports.heard('sizes');
    assert.equal(sizes['inner'], '1280x720');
    assert.equal(sizes['scale'], 1);
    const [outer, screen] = [sizes['outer'], sizes['screen']].map((text) => String(text).split('x').map(Number));
    assert.ok(outer && screen);
    assert.ok((outer[0] ?? 0) >= 1280 && (outer[1] ?? 0) > 720, 'the window has no bars');
    assert.ok(
      (outer[0] ?? 0) <= (screen[0] ?? 0) && (outer[1] ?? 0) <= (screen[1] ?? 0),
      `a window of ${outer.join('x')} on a screen of ${screen.join('x')}`,
    );
    person = await watch();
    const display = await displayOf(person);
    assert.deepEqual([display.width, display.height], screen);
  });

  it('shows the whole window by its link, which is not in the address any more', async () => {
    const { page, context } = person;
    assert.equal(page.url(), `${service.url}/v1/session/${session.session_id}/vnc/vnc.html`);
    const [cookie] = await context.cookies(page.url());
    assert.deepEqual([cookie?.path, cookie?.httpOnly, cookie?.sameSite], [`/v1/session/${session.session_id}/vnc`, true, 'Lax']);
    await seesColour(picture(person), green, { at: [0.5, 0.6] });
    await go('/moving');
    await seesMovement(picture(person));
    await person.inspect('vnc');
    person.assertCalm();
  });

  it('brings clicks and typing to the page, and to the bars above it', async () => {
    await go('/pad');
    await reports.heard('shown', { from: '/pad' });
    reports.forget();
    await person.page.mouse.click(...(await at(places.button, sizes)));
    assertAt(await reports.heard('click', { on: 'button' }), places.button);
    await person.page.mouse.click(...(await at(places.field, sizes)));
    await reports.heard('click', { on: 'field' });
    await person.page.keyboard.type('Hello, World! 1+1');
    await reports.heard('typed', { value: 'Hello, World! 1+1' });
    await person.page.keyboard.press('Control+a');
    await person.page.keyboard.type('new');
    await reports.heard('typed', { value: 'new' });
    await person.page.mouse.move(...(await at(places.scroller, sizes)));
    await person.page.mouse.wheel(0, 300);
    await reports.heard('scrolled');
    // The address bar is the browser's own: a page could not be brought there by hand otherwise.
    await focusAddressBar();
    await person.page.keyboard.type(`${site.url}/blue\n`);
    await eventually(
      'it is there',
      async () => (await client.call(getSession, { params: params() })).body.current_url === `${site.url}/blue`,
      slowMs,
    );
    await seesColour(picture(person), blue, { at: [0.5, 0.6] });
    await person.page.keyboard.press('Control+t');
    await eventually('a tab was opened by hand', async () => (await client.call(listTabs, { params: params() })).body.length === 2, slowMs);
    await person.page.keyboard.press('Control+w');
    await eventually('and closed', async () => (await client.call(listTabs, { params: params() })).body.length === 1, slowMs);
    person.assertCalm();
  });

  it('draws letters of East Asia and pictures in colour', async () => {
    reports.forget();
    await go('/letters');
    const { cjk, distinct, emoji } = await reports.heard('letters');
    assert.deepEqual({ cjk, distinct, emoji }, { cjk: true, distinct: true, emoji: true });
    await person.inspect('vnc-letters', { schemes: ['light'] });
  });

  it('is shown to two people and to a phone at once, and counts them', async () => {
    await go('/moving');
    const phone = await watch({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await Promise.all([seesMovement(picture(person)), seesMovement(picture(phone))]);
    assert.equal((await client.call(getSession, { params: params() })).body.connections.viewers, 2);
    await phone.inspect('vnc-phone');
    phone.assertCalm();
    await phone.leave();
    await eventually('one has left', async () => (await client.call(getSession, { params: params() })).body.connections.viewers === 1);
  });

  it('is one of this kind of session alone, and no link of another purpose opens it', async () => {
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

  it('is seen by the live view as well', async () => {
    await go('/blue');
    const watcher = await audience.person({ origin: service.url });
    await watcher.open((await client.call(createViewToken, { params: params(), body: {} })).body.url ?? '');
    await seesColour(watcher.page.locator('canvas'), blue);
    await watcher.leave();
  });

  it('keeps its session alive by hands, and not by eyes', async () => {
    await client.call(updateSession, { params: params(), body: { idle_timeout_seconds: 10 } });
    const before = Date.parse((await client.call(getSession, { params: params() })).body.last_activity_at);
    const movedMs = Date.now();
    await person.page.mouse.move(...(await at(places.nothing, sizes)));
    await person.page.mouse.move(...(await at(places.button, sizes)));
    const touched = await eventually('a hand was seen', async () => {
      const { last_activity_at } = (await client.call(getSession, { params: params() })).body;
      return Date.parse(last_activity_at) > before && Date.parse(last_activity_at);
    });
    assert.ok(touched >= movedMs - 1000);
    const ended = await eventually(
      'it ends although it is watched',
      async () => {
        const { body } = await client.call(getSession, { params: params() });
        return body.status === 'ended' && body;
      },
      30_000,
    );
    assert.equal(ended.ended_reason, 'idle_timeout');
    await person.page.getByRole('heading', { name: 'The session has ended' }).waitFor();
    await person.inspect('vnc-ended');
    person.assertCalm();
    await person.leave();
  });
});
