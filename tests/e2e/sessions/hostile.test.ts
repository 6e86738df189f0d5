import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { existsSync, globSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  closeTab,
  createSession,
  endSession,
  getHar,
  getSession,
  health,
  listAllSessions,
  listDownloads,
  listTabs,
  navigate,
  openTab,
  type NavigateResponse,
} from '@berth/contract';
import type { Client, Reply } from '../../harness.ts';
import { backgroundRequests, findStoredData, hostilePages, storeData } from '../hostile-pages.ts';
import { RawDevtools } from '../raw-devtools.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { connectToSession } from './connected-session.ts';
import { nightly } from '../../nightly.ts';
import { assertPrompt, assertShort } from '../../yardstick.ts';

/** The maximum delay beyond the caller's timeout for stopping the page and answering. What is not stopped is never answered. */
const graceMs = 20_000;
/** Timeout of calls that must succeed beside hostile pages, whose browsers take all the processor they may. */
const ordinaryMs = 30_000;
/** Timeout of a page that loops: it takes the processor until then. */
const briefMs = 1000;

describe('hostile pages, sites and clients', () => {
  let site: Site;
  let canary: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    [site, canary] = await Promise.all([startSite({ pages: hostilePages }), startSite()]);
    // The canary is a local service that is not allowed.
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await Promise.all([site.close(), canary.close()]);
  });

  const create = async (body: object = {}) => ({ session_id: (await client.call(createSession, { body })).body.session_id });
  type Params = Awaited<ReturnType<typeof create>>;
  const go = (params: Params, path: string, more: object = {}) =>
    client.call(navigate, { params, body: { url: site.url + path, ...more } });
  const end = (params: Params) => client.call(endSession, { params });
  /** Navigates, and fails when the response is late. */
  const goBounded = async (params: Params, path: string, timeout_ms: number): Promise<Reply<NavigateResponse>> => {
    const since = performance.now();
    const reply = await go(params, path, { timeout_ms });
    const took = performance.now() - since;
    assertShort(took, timeout_ms + graceMs, path);
    return reply;
  };
  const failure = ({ body, status }: Reply<unknown>): unknown =>
    status === 200 ? 'ok' : (body as { error?: { details?: { reason?: string } } }).error?.details?.reason;
  /** Checks that the session still works as requested. */
  const assertDrivable = async (params: Params): Promise<void> => {
    let home = await goBounded(params, '/', ordinaryMs);
    // What the page before still does may end one navigation, which is retryable. It does not end the next.
    if (failure(home) === 'aborted') home = await goBounded(params, '/', ordinaryMs);
    assert.equal(home.status, 200, home.text);
    assert.equal(home.body.title, 'Home');
    for (const tab of (await client.call(listTabs, { params })).body)
      if (tab.tab_id !== home.body.tab_id) await client.call(closeTab, { params: { ...params, tab_id: tab.tab_id } });
    const { tab_id } = (await client.call(openTab, { params, body: { url: `${site.url}/second`, timeout_ms: ordinaryMs, active: false } }))
      .body;
    assert.equal((await client.call(closeTab, { params: { ...params, tab_id } })).status, 204);
  };

  describe('a hostile page', () => {
    let neighbour: Params;
    before(async () => {
      neighbour = await create();
    });
    after(() => end(neighbour));

    for (const { what, path, ends = ['ok', 'timeout'], withinMs = briefMs, rare = false } of [
      // `drive.test.ts` has it in every run.
      { what: 'opens windows without end', path: '/windows', rare: true },
      { what: 'shows dialogs in a loop that never ends', path: '/dialog-loop', ends: ['timeout'] },
      // Each of these takes a processor for some seconds, in a way that is like one of the others.
      { what: 'prints without end', path: '/print-loop', rare: true },
      { what: 'starts two hundred downloads', path: '/downloads', rare: true },
      { what: 'exhausts memory', path: '/memory', ends: ['page_crashed', 'timeout'], withinMs: 2000 },
      { what: 'loops while it loads', path: '/spin', ends: ['timeout'], rare: true },
      { what: 'loops when it has loaded', path: '/spin-later', rare: true },
      { what: 'loops on a timer and whenever it is left', path: '/spin-again', rare: true },
      { what: 'makes history without end', path: '/history', rare: true },
      { what: 'moves on without end', path: '/reloads', rare: true },
      { what: 'has a title of ten megabytes', path: '/title', ends: ['ok'], withinMs: ordinaryMs, rare: true },
      { what: 'changes a title of a megabyte without end', path: '/titles', rare: true },
      { what: 'logs without end', path: '/log', ends: ['ok', 'timeout', 'page_crashed'], rare: true },
      { what: 'asks for a password', path: '/auth', ends: ['ok'], withinMs: ordinaryMs },
    ])
      it(`a hostile page that ${what} is answered in time and ends no session`, rare ? nightly : {}, async () => {
        const params = await create();
        try {
          const [reply] = await Promise.all([goBounded(params, path, withinMs), goBounded(neighbour, '/second', ordinaryMs)]);
          assert.ok(ends.includes(String(failure(reply))), reply.text.slice(0, 500));
          if (reply.status === 200) assert.ok(reply.body.title.length <= 1024);
          const { tabs, title } = (await client.call(getSession, { params })).body;
          assert.ok(tabs.open <= tabs.limit, `${tabs.open} tabs are open`);
          assert.ok((title ?? '').length <= 1024);
          assert.equal((await goBounded(neighbour, '/', ordinaryMs)).status, 200);
          await assertDrivable(params);
        } finally {
          assert.equal((await end(params)).status, 204);
        }
      });

    it('a hostile page that writes half a character and NUL wherever a page can write is recorded, and its session ends', async () => {
      const params = await create({ record: true, har: true });
      const { body: shown } = await goBounded(params, '/half-characters', ordinaryMs);
      // Chromium itself makes a space of a NUL in a title.
      assert.match(shown.title, /^a\ufffdb.c$/);
      await eventually('the download is listed', async () => (await client.call(listDownloads, { params })).body.length > 0);
      assert.ok((await client.call(listTabs, { params })).text.isWellFormed());
      assert.doesNotMatch((await client.call(getHar, { params })).text, /\\ud800|\\u0000/i);
      assert.equal((await end(params)).status, 204);
      const { body } = await client.call(getSession, { params });
      assert.equal(body.ended_reason, 'requested');
      assert.match(body.title ?? '', /^a\ufffdb.c$/);
      assert.equal((await client.call(health)).status, 200);
    });

    it(
      'a hostile page that contains hundreds of frames is answered in time, and its tab works again when they are removed',
      nightly,
      async () => {
        const params = await create();
        await goBounded(params, '/frames?count=300', briefMs);
        const home = await eventually(
          'the tab can be driven',
          async () => failure(await go(params, '/', { timeout_ms: ordinaryMs })) === 'ok',
          90_000,
        );
        assert.ok(home);
        await assertDrivable(params);
        await end(params);
      },
    );

    it('a hostile page that loops is closed with its tab within seconds', async () => {
      const params = await create();
      const { tab_id } = (await client.call(openTab, { params, body: {} })).body;
      await go(params, '/spin-again', { tab_id, wait_until: 'commit', timeout_ms: ordinaryMs });
      const since = performance.now();
      assert.equal((await client.call(closeTab, { params: { ...params, tab_id } })).status, 204);
      assertPrompt(since, graceMs, 'closing took as long as a timeout');
      await assertDrivable(params);
      await end(params);
    });

    it('a hostile page that is crashed by a client affects no other tab, and its tab recovers with the next page', async () => {
      const { params, page, context, end: disconnect } = await connectToSession(client);
      await page.goto(`${site.url}/second`);
      const other = await context.newPage();
      await other.goto(`${site.url}/form`);
      const [tab] = (await client.call(listTabs, { params })).body;
      const devtools = await context.newCDPSession(page);
      // A crashed page does not answer, so the test waits only for the crash.
      void devtools.send('Page.crash').catch(() => undefined);
      await page.waitForEvent('crash');
      await eventually(
        'the tab is reported as crashed',
        async () => (await client.call(listTabs, { params })).body[0]?.status === 'crashed',
      );
      assert.equal(await other.title(), 'Form');
      const back = await go(params, '/', { tab_id: tab?.tab_id, timeout_ms: ordinaryMs });
      assert.equal(back.status, 200, back.text);
      assert.equal((await client.call(listTabs, { params })).body[0]?.status, 'complete');
      await disconnect();
    });
  });

  describe('a hostile site', () => {
    let params: Params;
    before(async () => {
      params = await create();
    });
    after(() => end(params));

    const trafficOf = async (): Promise<number> => (await client.call(getSession, { params })).body.usage.egress_bytes;

    for (const { what, path, reason, withinMs = 1500, rare = false } of [
      { what: 'sends a letter now and then', path: '/drip', reason: 'timeout' },
      { what: 'sends headers without end', path: '/drip-header', reason: 'timeout', rare: true },
      { what: 'redirects without end', path: '/loop', reason: 'too_many_redirects', withinMs: ordinaryMs },
      { what: 'sends a page without end', path: '/endless', reason: 'timeout' },
      { what: 'holds back an image for ever', path: '/never-loads', reason: 'timeout', rare: true },
    ])
      it(`a hostile site that ${what} costs at most the given time, and its traffic is counted`, rare ? nightly : {}, async () => {
        const before = await trafficOf();
        assert.equal(failure(await goBounded(params, path, withinMs)), reason);
        assert.ok((await trafficOf()) > before);
        await assertDrivable(params);
      });
  });

  describe('the network of a session', () => {
    it('the network of a session is unreachable for service and shared workers, hints, beacons, imports and WebTransport', async () => {
      const { page, end: disconnect } = await connectToSession(client);
      const datagrams: Buffer[] = [];
      const udp = createSocket('udp4').on('message', (message) => datagrams.push(message));
      await new Promise<void>((resolve) => udp.bind(Number(new URL(canary.url).port), '127.0.0.1', resolve));
      for (const address of [canary.url, canary.url.replace('127.0.0.1', 'localhost')]) {
        await page.goto(`${site.url}/second?${address}`);
        const { service: byService, byShared, byTransport } = await page.evaluate<Record<string, string>>(backgroundRequests(address));
        // The gate answers refused plain requests itself, which a no-cors request reports as reached.
        assert.ok(byService && byShared, 'a worker did not try');
        assert.equal(byTransport, 'failed');
      }
      await assert.rejects(
        page
          .context()
          .browser()
          ?.newContext({ proxy: { server: `http://${canary.host}` } }) ?? Promise.resolve(),
      );
      // The page's requests end with its session.
      await disconnect();
      assert.deepEqual([canary.hits, canary.connections(), datagrams.length], [[], 0, 0]);
      await new Promise<void>((resolve) => udp.close(() => resolve()));
    });

    it('the network of a session contains no port of the service under any host name', async () => {
      const params = await create();
      const { port } = new URL(service.url);
      for (const host of ['127.0.0.1', 'localhost', '[::1]', hostname(), '127.1', '0.0.0.0', 'x.localhost', '[::ffff:127.0.0.1]']) {
        const { details } = await client.refuse(navigate, 'navigation_failed', {
          params,
          body: { url: `http://${host}:${port}/health`, timeout_ms: ordinaryMs },
        });
        assert.equal(details['reason'], 'blocked_by_policy', host);
      }
      await end(params);
    });

    it('the network of a session contains no port of the machine itself, and the egress does not lead back to it', async () => {
      const { page, params, end: disconnect } = await connectToSession(client);
      const admin = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.find(
        (each) => each.session_id === params.session_id,
      );
      const inside = descendants(admin?.pid ?? 0).find((pid) => readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'));
      if (inside !== undefined) assert.deepEqual(listeningPorts(inside), [3128]);
      await page.goto(`${site.url}/second`);
      for (const port of [3128, 9222, 22, 80, 5432]) {
        const outcome = await page.evaluate(
          `fetch('http://127.0.0.1:${port}/json', { mode: 'cors' }).then(() => 'reached', () => 'failed')`,
        );
        assert.equal(outcome, 'failed', String(port));
      }
      for (const port of [3128, 9222]) {
        const { details } = await client.refuse(navigate, 'navigation_failed', {
          params,
          body: { url: `http://127.0.0.1:${port}/json/version` },
        });
        assert.equal(details['reason'], 'blocked_by_policy', String(port));
      }
      await disconnect();
    });
  });

  describe('a DevTools client', () => {
    let params: Params;
    let raw: RawDevtools;
    let pageSession: string;
    before(async () => {
      params = await create();
      raw = await RawDevtools.open(client, params.session_id);
      pageSession = await raw.attach();
    });
    after(async () => {
      raw.close();
      await end(params);
    });

    for (const { what, method, more, onPage } of [
      { what: 'a file of the machine', method: 'Page.navigate', more: { url: 'file:///etc/passwd' }, onPage: true },
      { what: 'a page of the browser itself', method: 'Page.navigate', more: { url: 'chrome://version' }, onPage: true },
      { what: 'a tab with a file in it', method: 'Target.createTarget', more: { url: 'file:///etc/passwd' } },
      { what: 'a separate egress', method: 'Target.createBrowserContext', more: { proxyServer: 'http://127.0.0.1:1' } },
      { what: 'information about the machine', method: 'SystemInfo.getInfo', more: {} },
      { what: 'the processes of the machine', method: 'SystemInfo.getProcessInfo', more: {} },
      { what: 'the command line', method: 'Browser.getBrowserCommandLine', more: {} },
      { what: 'a stream that was not opened', method: 'IO.read', more: { handle: '1' }, onPage: true },
      { what: 'a stream named like a file', method: 'IO.read', more: { handle: '/etc/passwd' }, onPage: true },
      { what: 'a crash of the browser', method: 'Browser.crash', more: {} },
      {
        what: 'a file of the machine in a page',
        method: 'DOM.setFileInputFiles',
        more: { files: ['/etc/passwd'], nodeId: 1 },
        onPage: true,
      },
    ])
      it(`a DevTools client is refused ${what} by ${method}, and the session continues`, async () => {
        const { error, result } = await raw.send(method, more, onPage ? pageSession : undefined);
        assert.ok(error, JSON.stringify(result));
        assert.ok(!JSON.stringify(error).includes('root:'));
        assert.equal((await client.call(getSession, { params })).body.status, 'ready');
      });

    it('a DevTools client cannot save downloads outside the session’s folder', async () => {
      const downloadPath = '/etc/berth-hostile';
      for (const [method, sessionId] of [['Browser.setDownloadBehavior'], ['Page.setDownloadBehavior', pageSession]] as const)
        await raw.send(method, { behavior: 'allow', downloadPath }, sessionId);
      await raw.send('Page.navigate', { url: `${site.url}/file` }, pageSession);
      await eventually('the download is in its folder', () => downloadsOf(service.dataDir).length > 0);
      assert.ok(!existsSync(downloadPath));
    });

    it('a DevTools client cannot use the attachments of another client', async () => {
      const other = await RawDevtools.open(client, params.session_id);
      const { error } = await other.send('Runtime.evaluate', { expression: '1' }, pageSession);
      assert.equal(error?.code, -32001);
      assert.equal((await raw.send('Runtime.evaluate', { expression: '1' }, pageSession)).error, undefined);
      other.close();
    });

    it('a DevTools client that closes the browser closes only its own connection', async () => {
      const other = await RawDevtools.open(client, params.session_id);
      assert.equal((await other.send('Browser.close')).error, undefined);
      assert.equal(await other.closed, 1000);
      assert.equal((await client.call(getSession, { params })).body.status, 'ready');
      assert.equal((await raw.send('Browser.getVersion')).error, undefined);
      await assertDrivable(params);
    });
  });

  it('hostile pages, sites and clients finds nothing of concurrent or earlier sessions', async () => {
    const clean = { cookie: '', storage: [], caches: [], databases: [], workers: 0, files: [], history: 'short' };
    const cachedHits = (): number => site.hits.filter((path) => path === '/cached').length;
    const [first, second] = [await connectToSession(client), await connectToSession(client)];
    await first.page.goto(`${site.url}/form`);
    await first.page.evaluate(storeData);
    assert.equal(cachedHits(), 1);
    const [download] = await Promise.all([first.page.waitForEvent('download'), first.page.locator('#file').click()]);
    assert.equal(await download.failure(), null);
    const own = await first.page.evaluate<typeof clean>(findStoredData);
    // Proves that the search finds the data when it exists.
    assert.deepEqual(
      { ...own, history: '' },
      { cookie: 'trace=yes', storage: ['trace'], caches: ['trace'], databases: ['trace'], workers: 1, files: ['trace'], history: '' },
    );
    assert.equal(cachedHits(), 1, 'the cache was not used');

    await second.page.goto(`${site.url}/second`);
    assert.deepEqual(await second.page.evaluate(findStoredData), clean);
    assert.equal(cachedHits(), 2);
    await first.end();
    const third = await connectToSession(client);
    await third.page.goto(`${site.url}/second`);
    assert.deepEqual(await third.page.evaluate(findStoredData), clean);
    assert.equal(cachedHits(), 3);
    await Promise.all([second.end(), third.end()]);
    await eventually('no download outlives its session', () => downloadsOf(service.dataDir).length === 0);
  });
});

/** A folder may go while it is read. */
const downloadsOf = (dataDir: string): string[] =>
  globSync('**/downloads/**', { cwd: join(dataDir, 'machines'), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendants)];
}

/** The listening ports in the network namespace of a process. */
function listeningPorts(pid: number): number[] {
  const listens = '0A';
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1));
  const sockets = rows.map((row) => row.trim().split(/\s+/));
  return sockets.filter(([, , , state]) => state === listens).map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16));
}
