import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  createConnectToken,
  createSession,
  endSession,
  getSession,
  listAllSessions,
  listSessions,
  listDownloads,
  revokeKey,
  createKey,
  type ConnectInfo,
  type SessionResponse,
} from '@berth/contract';
import type { Browser } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { WebSocket } from 'ws';
import { nightly } from '../../nightly.ts';
import { assertPrompt } from '../../yardstick.ts';
import { Client } from '../../client.ts';
import { connectPlaywright } from '../playwright.ts';
import { Service, eventually, nightlyOnMachines, pageMs } from '../service.ts';
import { startSite, type Site } from '../site.ts';

describe('DevTools clients', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '1' } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const open = async (body: object = {}): Promise<{ session: SessionResponse; info: ConnectInfo }> => {
    const session = (await client.call(createSession, { body })).body;
    return { session, info: (await client.call(connectSession, { params: { session_id: session.session_id } })).body };
  };
  const end = (session: SessionResponse) => client.call(endSession, { params: { session_id: session.session_id } });
  const read = async (session: SessionResponse) => (await client.call(getSession, { params: { session_id: session.session_id } })).body;

  it('a Playwright script runs: navigate, click, type, screenshot, download, a new context, close', async () => {
    const { session, info } = await open();
    const browser = await connectPlaywright(info.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await page.goto(`${site.url}/form`);
    await page.getByLabel('Name').fill('Berth');
    await page.locator('#greet').click();
    assert.equal(await page.title(), 'Hello Berth');
    assert.ok((await page.screenshot()).length > 1000);

    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#file').click()]);
    assert.equal(download.suggestedFilename(), 'data.bin');
    const file = await eventually('the download is complete', async () => {
      const { body } = await client.call(listDownloads, { params: { session_id: session.session_id } });
      return body.find(({ status }) => status === 'completed');
    });
    assert.deepEqual([file.suggested_filename, file.received_bytes], ['data.bin', 100_000]);

    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(`${site.url}/second`, { timeout: pageMs(30_000) });
    assert.equal(await other.title(), 'Second');
    await context.close();
    await browser.close();
    await eventually('the client has disconnected', async () => (await read(session)).connections.cdp === 0);
    assert.equal((await read(session)).status, 'ready');
    await end(session);
  });

  it('a Puppeteer script runs: navigate, click, type, screenshot, a new context, close', nightlyOnMachines, async () => {
    const { session, info } = await open();
    const browser = await puppeteer.connect({ browserWSEndpoint: info.cdp_url, defaultViewport: null });
    const [page] = await browser.pages();
    assert.ok(page);
    page.setDefaultTimeout(pageMs(30_000));
    await page.goto(`${site.url}/form`);
    await page.type('#name', 'Berth');
    await page.click('#greet');
    assert.equal(await page.title(), 'Hello Berth');
    assert.ok((await page.screenshot()).length > 1000);
    const context = await browser.createBrowserContext();
    const other = await context.newPage();
    await other.goto(`${site.url}/second`, { timeout: pageMs(30_000) });
    assert.equal(await other.title(), 'Second');
    await context.close();
    await browser.disconnect();
    await end(session);
  });

  const liveIds = async () =>
    (await client.call(listSessions, { query: { status: 'starting,ready' } })).body.map(({ session_id }) => session_id);

  it(
    'DevTools clients create a session by connecting, with a connect token or the API key, which ends with the connection',
    nightlyOnMachines,
    async () => {
      const { token } = (await client.call(createConnectToken, { body: {} })).body;
      const base = service.url.replace('http', 'ws');
      const headers = { authorization: `Bearer ${service.key}` };
      const withPuppeteer = async (options: Parameters<typeof puppeteer.connect>[0]): Promise<void> => {
        const browser = await puppeteer.connect({ ...options, defaultViewport: null });
        const [page] = await browser.pages();
        await page?.goto(`${site.url}/second`, { timeout: pageMs(30_000) });
        assert.equal(await page?.title(), 'Second');
        assert.equal((await liveIds()).length, 1);
        await browser.disconnect();
      };
      const withPlaywright = async (address: string, options = {}): Promise<void> => {
        const browser = await connectPlaywright(address, options);
        const page = browser.contexts()[0]?.pages()[0];
        await page?.goto(`${site.url}/second`);
        assert.equal(await page?.title(), 'Second');
        assert.equal((await liveIds()).length, 1);
        await browser.close();
      };
      const scripts = [
        () => withPuppeteer({ browserWSEndpoint: `${base}/v1/connect?token=${token}` }),
        () => withPuppeteer({ browserURL: `${service.url}/c/${token}` }),
        () => withPuppeteer({ browserURL: service.url, headers }),
        () => withPlaywright(`${base}/v1/connect`, { headers }),
        () => withPlaywright(`${service.url}/c/${token}`),
        () => withPlaywright(`${service.url}?token=${token}`),
      ];
      for (const run of scripts) {
        await run();
        await eventually('the session has ended with its connection', async () => (await liveIds()).length === 0);
      }
      const { body } = await client.call(listSessions, { query: { limit: '1' } });
      assert.equal(body[0]?.ended_reason, 'cdp_closed');
      for (const secret of [token ?? assert.fail(), service.key]) assert.ok(!service.errors.includes(secret), 'a secret is in the log');
    },
  );

  it('DevTools clients create a session with options in the address, and leave one with keep_alive', nightlyOnMachines, async () => {
    const { token, cdp_http_url } = (await client.call(createConnectToken, { body: {} })).body;
    const address = `${cdp_http_url}?keep_alive=true&viewport.width=800&viewport.height=600&name=agent`;
    const first = await puppeteer.connect({ browserURL: address, defaultViewport: null });
    const [page] = await first.pages();
    await page?.goto(`${site.url}/second`, { timeout: pageMs(30_000) });
    assert.deepEqual(await page?.evaluate('[innerWidth, innerHeight]'), [800, 600]);
    await first.disconnect();
    const [session] = (await client.call(listSessions, { query: { status: 'ready', name: 'agent' } })).body;
    assert.ok(session);
    const second = await connectPlaywright(`${session.cdp_url}?token=${token}`);
    assert.equal(await second.contexts()[0]?.pages()[0]?.title(), 'Second');
    await second.close();
    assert.equal((await read(session)).status, 'ready');
    await end(session);
  });

  it('DevTools clients connect with the API key in a header, and by HTTP discovery', nightly, async () => {
    const { session, info } = await open();
    const headers = { authorization: `Bearer ${service.key}` };
    for (const address of [session.cdp_url, info.cdp_http_url]) {
      const browser = await connectPlaywright(address, { headers });
      assert.equal(browser.contexts()[0]?.pages().length, 1);
      await browser.close();
    }
    await end(session);
  });

  it('DevTools clients share a session with separate attachments', nightlyOnMachines, async () => {
    const { session, info } = await open();
    const browsers: Browser[] = await Promise.all([1, 2, 3].map(() => connectPlaywright(info.cdp_url)));
    const pages = await Promise.all(
      browsers.map(async (browser, index) => {
        const page = await browser.contexts()[0]?.newPage();
        await page?.goto(`${site.url}/second?${index}`);
        return page;
      }),
    );
    for (const [index, page] of pages.entries()) assert.equal(page?.url(), `${site.url}/second?${index}`);
    assert.equal((await read(session)).connections.cdp, 3);
    await browsers[0]?.close();
    assert.equal(await pages[1]?.title(), 'Second');
    await Promise.all(browsers.slice(1).map((browser) => browser.close()));
    await end(session);
  });

  it('DevTools clients find the session’s state after a reconnect', nightly, async () => {
    const { session, info } = await open();
    const first = await connectPlaywright(info.cdp_url);
    await first.contexts()[0]?.pages()[0]?.goto(`${site.url}/second`);
    await first.close();
    const second = await connectPlaywright(info.cdp_url);
    assert.equal(await second.contexts()[0]?.pages()[0]?.title(), 'Second');
    await second.close();
    await end(session);
  });

  it('DevTools clients end a session without keep_alive when the last one disconnects', nightlyOnMachines, async () => {
    const { session, info } = await open({ keep_alive: false });
    const browser = await connectPlaywright(info.cdp_url);
    await browser.close();
    const ended = await eventually('the session has ended', async () => {
      const seen = await read(session);
      return seen.status === 'ended' && seen;
    });
    assert.equal(ended.ended_reason, 'cdp_closed');
  });

  it('DevTools clients get a close code and reason when the session ends', nightly, async () => {
    const { session, info } = await open();
    const socket = new WebSocket(info.cdp_url);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    await end(session);
    assert.deepEqual(await closed, { code: 4000, reason: 'session_ended' });
  });

  it('DevTools clients get a close code and reason when the browser is killed', async () => {
    const { session, info } = await open();
    const socket = new WebSocket(info.cdp_url);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    const admin = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.find(
      (each) => each.session_id === session.session_id,
    );
    assert.ok(admin?.pid);
    process.kill(admin.pid, 'SIGKILL');
    assert.deepEqual(await closed, { code: 4008, reason: 'browser_crashed' });
    const seen = await eventually('the session has failed', async () => {
      const body = await read(session);
      return body.status === 'failed' && body;
    });
    assert.ok(seen.ended_reason === 'browser_crashed' || seen.ended_reason === 'vm_lost', String(seen.ended_reason));
  });

  it('DevTools clients are disconnected within a second after their key is revoked', nightlyOnMachines, async () => {
    const { body: made } = await client.call(createKey, { body: { owner: 'local', name: 'to be revoked' } });
    const owner = new Client(service.url, made.key ?? '');
    const session = (await owner.call(createSession, { body: {} })).body;
    const info = (await owner.call(connectSession, { params: { session_id: session.session_id } })).body;
    const socket = new WebSocket(info.cdp_url);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    await client.call(revokeKey, { params: { key_id: made.key_id } });
    const since = performance.now();
    await owner.refuse(getSession, 'invalid_api_key', { params: { session_id: session.session_id } });
    assert.equal(await closed, 4003);
    // A socket that is not closed for its key stays open until its session ends.
    assertPrompt(since, 10_000, 'it took more than a second, and more than a busy machine explains');
    await assert.rejects(connectPlaywright(info.cdp_url), /403/);
    await end(session);
  });

  it('DevTools clients cannot read host files or bypass the session’s rules', async () => {
    const { session, info } = await open();
    const browser = await connectPlaywright(info.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await assert.rejects(page.goto('file:///etc/passwd'));
    await assert.rejects(page.goto('chrome://version'));
    await assert.rejects(page.goto(`${service.url}/health`), /ERR_BLOCKED_BY_CLIENT/);
    await assert.rejects(browser.newContext({ proxy: { server: 'http://127.0.0.1:1' } }));
    await browser.close();
    await end(session);
  });
});
