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
import { Audience, isBlank, seesColour, seesMovement, slowMs, type Person } from './viewing.ts';
import { Line } from './viewing-line.ts';
import { Reports, blue, hostileTitle, places, red, rightToLeft, viewingPages } from './viewing-pages.ts';

/** What a line that the test cuts makes the browser itself say. */
const cutLine = /WebSocket connection|net::ERR_/;
/** What Chromium says of an answer that is an error, which is what was asked for. */
const deadLink = /status of 40\d/;

describe('the live view', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let audience: Audience;
  let line: Line;
  /** Watched from the start, driven by nobody. */
  let idle: { session: SessionResponse; watcher: Person; sinceMs: number };
  let shortLink: string;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, audience] = await Promise.all([
      Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '1' } }),
      Audience.gather(),
    ]);
    client = service.client;
    const session = await start('/moving', { idle_timeout_seconds: 10 });
    const watcher = await watch(await linkTo(session));
    idle = { session, watcher, sinceMs: Date.now() };
    shortLink = await linkTo(await start('/red'), { ttl_seconds: 30 });
  });
  after(async () => {
    line?.close();
    await audience?.leave();
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
  const watch = async (link: string, options: object = {}): Promise<Person> => {
    const person = await audience.person({ origin: new URL(link).origin, ...options });
    await person.open(link);
    return person;
  };
  const pictureOf = ({ page }: Person) => page.locator('canvas');
  const status = ({ page }: Person, text: string) =>
    page
      .getByRole('status')
      .filter({ hasText: new RegExp(`^${text}$`) })
      .waitFor();

  it('opens by its link alone, takes the token out of the address, and goes on with a cookie of its own', async () => {
    const session = await start('/red');
    const link = await linkTo(session);
    const token = new URL(link).searchParams.get('token') ?? '';
    assert.ok(token);
    const person = await watch(link);
    await seesColour(pictureOf(person), red);
    const { page, context } = person;
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
    // A path that only begins like this one is another's.
    for (const other of [
      `${service.url}/v1/session/${session.session_id}x/live-view`,
      `${bare}er`,
      `${service.url}/v1/session/${session.session_id}`,
    ])
      assert.deepEqual(await context.cookies(other), []);
    await page.reload();
    await status(person, 'Live');
    await seesColour(pictureOf(person), red);
    person.assertCalm();
    const stranger = await watch(bare);
    await stranger.page.getByRole('heading', { name: 'This link does not open' }).waitFor();
    await Promise.all([person.leave(), stranger.leave(), end(session)]);
  });

  it('says that it connects until it has something to show', async () => {
    const session = await start('/red');
    const person = await audience.person({ origin: service.url });
    await person.page.routeWebSocket(/live-view\/socket/, () => undefined);
    await person.open(await linkTo(session));
    await person.page.getByText('Connecting to the session').waitFor();
    await status(person, 'Connecting');
    await person.inspect('live-view-connecting');
    person.assertCalm();
    await Promise.all([person.leave(), end(session)]);
  });

  it('shows the page as it moves, to two people and to a phone', async () => {
    const session = await start('/moving');
    const link = await linkTo(session);
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
    const people = await Promise.all([watch(link), watch(link), watch(link, phone)]);
    await Promise.all(people.map((person) => seesMovement(pictureOf(person))));
    assert.equal((await read(session)).connections.viewers, 3);
    await people[0]?.page.getByText('3 people watch').waitFor({ state: 'attached' });
    await people[0]?.inspect('live-view');
    await people[2]?.inspect('live-view-phone');
    for (const person of people) person.assertCalm();
    await people[1]?.leave();
    await eventually('one has left', async () => (await read(session)).connections.viewers === 2);
    await people[0]?.page.getByText('2 people watch').waitFor({ state: 'attached' });
    await Promise.all([people[0]?.leave(), people[2]?.leave(), end(session)]);
  });

  it('shows titles and addresses as text, however they are made', async () => {
    const session = await start('/titled?kind=markup');
    const params = paramsOf(session);
    const person = await watch(await linkTo(session));
    const { page } = person;
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
    await person.inspect('live-view-titles', { schemes: ['light'] });
    person.assertCalm();
    await Promise.all([person.leave(), end(session)]);
  });

  it('goes with the session from tab to tab', async () => {
    const session = await start('/red');
    const params = paramsOf(session);
    const person = await watch(await linkTo(session));
    await seesColour(pictureOf(person), red);
    const opened = (await client.call(openTab, { params, body: { url: `${site.url}/blue` } })).body;
    await seesColour(pictureOf(person), blue);
    await person.page.locator('[aria-current=true]', { hasText: 'Blue' }).waitFor();
    assert.equal((await client.call(listTabs, { params })).body.length, 2);
    await client.call(closeTab, { params: { ...params, tab_id: opened.tab_id } });
    await seesColour(pictureOf(person), red);
    await eventually('one tab is left', async () => (await person.page.getByRole('listitem').count()) === 1);
    person.assertCalm();
    await Promise.all([person.leave(), end(session)]);
  });

  it('keeps the last picture when the line is cut, says how old it is, and connects again', async () => {
    line = await Line.lay(service.url);
    const session = await start('/moving');
    const person = await watch(line.over(await linkTo(session)));
    await seesMovement(pictureOf(person));
    line.cut();
    await status(person, 'Connecting again');
    await person.page.getByText(/^Not live\. This is how it was at/).waitFor();
    await eventually('the one who lost the line is not counted', async () => (await read(session)).connections.viewers === 0);
    assert.equal(await isBlank(pictureOf(person)), false);
    await person.inspect('live-view-reconnecting');
    line.mend();
    await status(person, 'Live');
    await seesMovement(pictureOf(person));
    person.assertCalm({ except: cutLine });
    await person.leave();
    await end(session);
  });

  it('lets nobody touch the page who only watches', async () => {
    const session = await start('/pad');
    await reports.heard('shown', { from: '/pad' });
    const person = await watch(await linkTo(session));
    await status(person, 'Live');
    assert.equal(await isBlank(pictureOf(person)), false);
    await person.page.getByText('Watching', { exact: true }).waitFor();
    assert.equal(await person.page.getByRole('textbox').count(), 0);
    const box = await pictureOf(person).boundingBox();
    assert.ok(box);
    reports.forget();
    await person.page.mouse.click(box.x + (places.button.x * box.width) / 1280, box.y + (places.button.y * box.height) / 720);
    await person.page.mouse.wheel(0, 300);
    await person.page.keyboard.type('text');
    // What comes after it is there: so would be what came before.
    await client.call(runActions, { params: paramsOf(session), body: { actions: [{ type: 'click', selectors: ['#field'] }] } });
    await reports.heard('click', { on: 'field' });
    assert.deepEqual(
      reports.all.filter(({ type, on }) => ['key', 'scrolled', 'typed'].includes(type) || on === 'button'),
      [],
    );
    person.assertCalm();
    await Promise.all([person.leave(), end(session)]);
  });

  it('says why it is over: the owner ended the session, or its browser died', async () => {
    const [ended, killed] = [await start('/red'), await start('/blue')];
    const people = await Promise.all([ended, killed].map(async (session) => watch(await linkTo(session))));
    const [first, second] = people;
    assert.ok(first && second);
    await Promise.all([seesColour(pictureOf(first), red), seesColour(pictureOf(second), blue)]);
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
    for (const person of people) {
      person.assertCalm();
      await person.page.reload();
      await person.page.getByRole('heading', { name: 'This link does not open' }).waitFor();
      await person.leave();
    }
  });

  it('answers a link that is wrong, foreign, taken back or dead with a page that can be read', async () => {
    const session = await start('/red');
    const other = (await client.call(createKey, { body: { owner: 'acme' } })).body.key ?? '';
    await client.refuse(createViewToken, 'session_not_found', { params: paramsOf(session), key: other, body: {} });
    const link = await linkTo(session);
    const foreign = link.replace(session.session_id, idle.session.session_id);
    const wrong = link.replace(/token=.*/, 'token=wrong');
    const watcher = await watch(link);
    await seesColour(pictureOf(watcher), red);
    assert.equal((await client.call(revokeViewTokens, { params: paramsOf(session) })).status, 204);
    await watcher.page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
    await watcher.inspect('live-view-taken-back');
    const texts = new Set<string>();
    for (const dead of [link, foreign, wrong]) {
      const person = await audience.person({ origin: service.url });
      const response = await person.page.goto(dead);
      assert.equal(response?.status(), 403);
      assert.equal(response?.headers()['referrer-policy'], 'no-referrer');
      await person.page.getByRole('heading', { name: 'This link does not open' }).waitFor();
      texts.add(await person.page.locator('body').innerText());
      if (dead === link) await person.inspect('link-error');
      person.assertCalm({ except: deadLink });
      await person.leave();
    }
    assert.equal(texts.size, 1, [...texts].join('\n---\n'));
    watcher.assertCalm();
    await Promise.all([watcher.leave(), end(session)]);
  });

  it('stops drawing when the last one has left', async () => {
    const session = await start('/moving');
    const person = await watch(await linkTo(session));
    await seesMovement(pictureOf(person));
    const watchedRate = await readRate(service.pid);
    await person.leave();
    await eventually('nobody is counted', async () => (await read(session)).connections.viewers === 0);
    // Pictures come to the worker through a pipe: that they stop is seen by what it reads.
    await eventually('no more pictures come', async () => (await readRate(service.pid)) < watchedRate / 5, 5000);
    await end(session);
  });

  it('keeps no session alive by being watched, and says that it ended for that', async () => {
    await idle.watcher.page.getByText('Nothing happened in it for a while, so it was ended.').waitFor();
    const { ended_reason, ended_at } = await eventually('it is over', async () => {
      const seen = await read(idle.session);
      return seen.status === 'ended' && seen;
    });
    assert.equal(ended_reason, 'idle_timeout');
    const lastedMs = Date.parse(ended_at ?? '') - idle.sinceMs;
    assert.ok(lastedMs < 20_000, `it lasted ${lastedMs} ms`);
    idle.watcher.assertCalm();
    await idle.watcher.leave();
  });

  it('opens by no link whose time is up', async () => {
    const opened = await eventually(
      'the link has expired',
      async () => {
        const response = await fetch(shortLink, { headers: { accept: 'text/html' } });
        const text = await response.text();
        return response.status === 403 && text;
      },
      40_000,
    );
    assert.match(opened, /This link does not open/);
    const person = await watch(shortLink);
    await person.page.getByRole('heading', { name: 'This link does not open' }).waitFor();
    assert.equal((await person.context.cookies()).length, 0);
    await person.leave();
  });

  it('says that the service goes when it goes', async () => {
    const session = await start('/red');
    const person = await watch(await linkTo(session));
    await seesColour(pictureOf(person), red);
    const stopped = service.stop();
    await person.page
      .getByText(/The service is being maintained|Connecting again/)
      .first()
      .waitFor();
    assert.equal(await stopped, 0);
    await person.leave();
  });
});

/** Bytes that a process reads in a second, from whatever. */
async function readRate(pid: number): Promise<number> {
  const read = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  const [from, sinceMs] = [read(), performance.now()];
  await eventually('a second has passed', () => performance.now() - sinceMs >= 1000, slowMs);
  return ((read() - from) * 1000) / (performance.now() - sinceMs);
}
